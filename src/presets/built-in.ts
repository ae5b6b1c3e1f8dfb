import type { Preset } from "./preset.ts";
import { a2a } from "./senders/a2a.ts";
import { adyen } from "./senders/adyen.ts";
import { agentmail } from "./senders/agentmail.ts";
import { airtable } from "./senders/airtable.ts";
import { alertmanager } from "./senders/alertmanager.ts";
import { anthropic } from "./senders/anthropic.ts";
import { asana } from "./senders/asana.ts";
import { awsSns } from "./senders/aws-sns/aws-sns.ts";
import { azureDevops } from "./senders/azure-devops.ts";
import { bitbucket } from "./senders/bitbucket/bitbucket.ts";
import { calcom } from "./senders/calcom.ts";
import { calendly } from "./senders/calendly.ts";
import { circleci } from "./senders/circleci.ts";
import { clerk } from "./senders/clerk.ts";
import { clickup } from "./senders/clickup.ts";
import { cloudevents } from "./senders/cloudevents.ts";
import { cloudflare } from "./senders/cloudflare.ts";
import { composio } from "./senders/composio.ts";
import { cursor } from "./senders/cursor.ts";
import { datadog } from "./senders/datadog.ts";
import { discordEvents } from "./senders/discord/discord-events.ts";
import { discordInteractions } from "./senders/discord/discord-interactions.ts";
import { dropbox } from "./senders/dropbox.ts";
import { elevenlabs } from "./senders/elevenlabs.ts";
import { forgejo } from "./senders/gitea/forgejo.ts";
import { gitea } from "./senders/gitea/gitea.ts";
import { github } from "./senders/github/github.ts";
import { gitlab } from "./senders/gitlab/gitlab.ts";
import { gitlabSigning } from "./senders/gitlab/gitlab-signing.ts";
import { gmail } from "./senders/google/gmail.ts";
import { gmailPush } from "./senders/google/gmail-push.ts";
import { googleCalendar } from "./senders/google/google-calendar.ts";
import { googleChat } from "./senders/google/google-chat.ts";
import { googleDrive } from "./senders/google/google-drive.ts";
import { googlePubsub } from "./senders/google/google-pubsub.ts";
import { grafana } from "./senders/grafana.ts";
import { homeAssistant } from "./senders/home-assistant.ts";
import { hubspot } from "./senders/hubspot.ts";
import { intercom } from "./senders/intercom.ts";
import { jira } from "./senders/jira/jira.ts";
import { lemonSqueezy } from "./senders/lemon-squeezy.ts";
import { line } from "./senders/line.ts";
import { linear } from "./senders/linear/linear.ts";
import { mailgun } from "./senders/mailgun.ts";
import { mailgunInbound } from "./senders/mailgun-inbound.ts";
import { mcpEvents } from "./senders/mcp-events.ts";
import { meta } from "./senders/meta/meta.ts";
import { microsoftGraph } from "./senders/microsoft-graph.ts";
import { microsoftTeams } from "./senders/microsoft-teams.ts";
import { monday } from "./senders/monday.ts";
import { netlify } from "./senders/netlify.ts";
import { notion } from "./senders/notion.ts";
import { openai } from "./senders/openai.ts";
import { paddle } from "./senders/paddle.ts";
import { pagerduty } from "./senders/pagerduty.ts";
import { paypal } from "./senders/paypal.ts";
import { pipedrive } from "./senders/pipedrive.ts";
import { postmarkInbound } from "./senders/postmark-inbound.ts";
import { razorpay } from "./senders/razorpay.ts";
import { resend } from "./senders/resend.ts";
import { revenuecat } from "./senders/revenuecat.ts";
import { sendgrid } from "./senders/sendgrid.ts";
import { sendgridInbound } from "./senders/sendgrid-inbound.ts";
import { sentry } from "./senders/sentry/sentry.ts";
import { shopify } from "./senders/shopify.ts";
import { slack } from "./senders/slack/slack.ts";
import { square } from "./senders/square.ts";
import { standardWebhooks } from "./senders/standard-webhooks/standard-webhooks.ts";
import { stripe } from "./senders/stripe.ts";
import { svix } from "./senders/svix.ts";
import { telegram } from "./senders/telegram.ts";
import { trello } from "./senders/trello.ts";
import { twilio } from "./senders/twilio.ts";
import { twitch } from "./senders/twitch.ts";
import { typeform } from "./senders/typeform.ts";
import { vercel } from "./senders/vercel.ts";
import { woocommerce } from "./senders/woocommerce.ts";
import { workos } from "./senders/workos.ts";
import { x } from "./senders/x.ts";
import { zendesk } from "./senders/zendesk.ts";
import { zoom } from "./senders/zoom.ts";

/** The presets that ship with the product. */
export const BUILT_IN_PRESETS: readonly Preset[] = [
  a2a,
  adyen,
  agentmail,
  airtable,
  alertmanager,
  anthropic,
  asana,
  awsSns,
  azureDevops,
  bitbucket,
  calcom,
  calendly,
  circleci,
  clerk,
  clickup,
  cloudevents,
  cloudflare,
  composio,
  cursor,
  datadog,
  discordEvents,
  discordInteractions,
  dropbox,
  elevenlabs,
  forgejo,
  gitea,
  github,
  gitlab,
  gitlabSigning,
  gmail,
  gmailPush,
  googleCalendar,
  googleChat,
  googleDrive,
  googlePubsub,
  grafana,
  homeAssistant,
  hubspot,
  intercom,
  jira,
  lemonSqueezy,
  line,
  linear,
  mailgun,
  mailgunInbound,
  mcpEvents,
  meta,
  microsoftGraph,
  microsoftTeams,
  monday,
  netlify,
  notion,
  openai,
  paddle,
  pagerduty,
  paypal,
  pipedrive,
  postmarkInbound,
  razorpay,
  resend,
  revenuecat,
  sendgrid,
  sendgridInbound,
  sentry,
  shopify,
  slack,
  square,
  standardWebhooks,
  stripe,
  svix,
  telegram,
  trello,
  twilio,
  twitch,
  typeform,
  vercel,
  woocommerce,
  workos,
  x,
  zendesk,
  zoom,
];
