import { joinText, labeled } from "../../../core/payload-text.ts";
import type { MessageLines } from "../../../core/payload-text.ts";
import { bodyAt, headline, lineAt, phrase, spoken, titled } from "../../message/headline.ts";
import { linkAt } from "./github-view.ts";
import type { GithubView } from "./github-view.ts";

/** Security: alerts of a repository, and advisories. */
export const ALERT_MESSAGES: Readonly<Record<string, (view: GithubView) => MessageLines>> = {
  dependabot_alert: dependabotAlert,
  repository_vulnerability_alert: vulnerabilityAlert,
  code_scanning_alert: codeScanningAlert,
  secret_scanning_alert: secretScanningAlert,
  secret_scanning_alert_location: secretScanningAlert,
  security_advisory: securityAdvisory,
  repository_advisory: (view) => [...securityAdvisory(view)],
};

function dependabotAlert(view: GithubView): MessageLines {
  const { payload } = view;
  const vulnerability = "alert.security_vulnerability";
  return [
    alerted(view, "Dependabot alert", lineAt(payload, "alert.security_advisory.summary")),
    labeled("Severity", lineAt(payload, `${vulnerability}.severity`, "alert.security_advisory.severity")),
    labeled(
      "Package",
      headline(
        lineAt(payload, "alert.dependency.package.name", `${vulnerability}.package.name`),
        lineAt(payload, `${vulnerability}.vulnerable_version_range`),
        phrase("in", lineAt(payload, "alert.dependency.manifest_path")),
      ),
    ),
    labeled("Fixed in", lineAt(payload, `${vulnerability}.first_patched_version.identifier`)),
    labeled(
      "Advisory",
      joinText(
        ", ",
        lineAt(payload, "alert.security_advisory.ghsa_id"),
        lineAt(payload, "alert.security_advisory.cve_id"),
      ),
    ),
    dismissal(payload),
    linkAt(payload, "alert", "repository"),
  ];
}

function vulnerabilityAlert(view: GithubView): MessageLines {
  const { payload } = view;
  return [
    alerted(view, "Vulnerability alert", lineAt(payload, "alert.affected_package_name")),
    labeled("Severity", lineAt(payload, "alert.severity")),
    labeled("Affected", lineAt(payload, "alert.affected_range")),
    labeled("Fixed in", lineAt(payload, "alert.fixed_in")),
    labeled("Advisory", joinText(", ", lineAt(payload, "alert.ghsa_id"), lineAt(payload, "alert.external_identifier"))),
    dismissal(payload),
    linkAt(payload, "repository"),
  ];
}

function codeScanningAlert(view: GithubView): MessageLines {
  const { payload } = view;
  const path = lineAt(payload, "alert.most_recent_instance.location.path");
  const line = lineAt(payload, "alert.most_recent_instance.location.start_line");
  return [
    alerted(view, "Code scanning alert", lineAt(payload, "alert.rule.description", "alert.rule.name", "alert.rule.id")),
    labeled("Severity", lineAt(payload, "alert.rule.security_severity_level", "alert.rule.severity")),
    labeled("Tool", headline(lineAt(payload, "alert.tool.name"), lineAt(payload, "alert.tool.version"))),
    labeled("File", path && line ? `${path}:${line}` : path),
    bodyAt(payload, "alert.most_recent_instance.message.text"),
    dismissal(payload),
    linkAt(payload, "alert", "repository"),
  ];
}

/** Says which secret leaked and never repeats it. */
function secretScanningAlert(view: GithubView): MessageLines {
  const { payload } = view;
  return [
    alerted(view, "Secret scanning alert", lineAt(payload, "alert.secret_type_display_name", "alert.secret_type")),
    labeled("File", lineAt(payload, "location.details.path")),
    labeled("Resolution", spoken(lineAt(payload, "alert.resolution"))),
    labeled("Resolved by", lineAt(payload, "alert.resolved_by.login")),
    linkAt(payload, "alert", "repository"),
  ];
}

function securityAdvisory(view: GithubView): MessageLines {
  const { payload, action, where } = view;
  const key = view.event === "repository_advisory" ? "repository_advisory" : "security_advisory";
  const id = lineAt(payload, `${key}.ghsa_id`);
  return [
    titled(
      headline(
        "Security advisory",
        id,
        phrase("was", spoken(action)),
        where,
        phrase("by", lineAt(payload, "sender.login")),
      ),
      lineAt(payload, `${key}.summary`),
    ),
    labeled("Severity", lineAt(payload, `${key}.severity`)),
    labeled("Package", lineAt(payload, `${key}.vulnerabilities[0].package.name`)),
    bodyAt(payload, `${key}.description`),
    linkAt(payload, key),
  ];
}

function alerted({ payload, action, where }: GithubView, kind: string, title: string): string {
  const number = lineAt(payload, "alert.number");
  const by = phrase("by", lineAt(payload, "sender.login"));
  return titled(
    headline(kind, number && `#${number}`, phrase("was", ALERT_ACTIONS.get(action) ?? spoken(action)), where, by),
    title,
  );
}

const ALERT_ACTIONS: ReadonlyMap<string, string> = new Map([
  ["create", "created"],
  ["dismiss", "dismissed"],
  ["resolve", "resolved"],
  ["appeared_in_branch", "found in another branch"],
  ["closed_by_user", "closed"],
]);

function dismissal(payload: unknown): readonly string[] {
  const by = lineAt(payload, "alert.dismissed_by.login", "alert.dismisser.login");
  const reason = spoken(lineAt(payload, "alert.dismissed_reason", "alert.dismiss_reason"));
  return [
    labeled("Dismissed", headline(phrase("by", by), reason && `(${reason})`)),
    bodyAt(payload, "alert.dismissed_comment"),
  ];
}
