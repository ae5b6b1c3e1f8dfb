/** The public API of the package: what hosts, plugin authors and transform authors import. */
export { WebhookIngress } from "./plugin.ts";
export type { DeliveryReader, WebhookIngressOptions } from "./plugin.ts";
export { HostError } from "./host.ts";
export type {
  AgentCatalog,
  AgentInfo,
  AgentRunRequest,
  AgentRunResult,
  ChannelInfo,
  ChannelMessage,
  ChannelTarget,
  Clock,
  ConfigSnapshot,
  GatewayFacts,
  GatewayHost,
  GatewayPlugin,
  HeartbeatRequest,
  HostAgents,
  HostChannels,
  HostLifecycle,
  HostPaths,
  HostSessions,
  HttpRoute,
  HttpRouter,
  Logger,
  ShutdownDeadline,
  SystemEvent,
} from "./host.ts";
export { guardHook } from "./guard-hook.ts";
export type {
  AcceptedEvent,
  Denial,
  DispatchedEvent,
  IngressHooks,
  SettledEvent,
  UnauthenticatedRequest,
} from "./hooks.ts";
export type {
  Action,
  AgentAction,
  AgentSpec,
  Credential,
  DeliveryDetail,
  DeliverySummary,
  EventSender,
  PayloadContext,
  RequestHead,
  RunDetail,
  RunSpec,
  RunState,
  State,
  WakeAction,
  WakeSpec,
} from "./delivery.ts";
export type { MappingConfig } from "./config/hooks-config.ts";
export { compileMapping } from "./mapping/compile-mapping.ts";
export type { CompiledMapping } from "./mapping/compile-mapping.ts";
export {
  asJson,
  clip,
  definePreset,
  itemLines,
  joinText,
  labeled,
  listAt,
  messageOf,
  textAt,
  valueAt,
} from "./presets/preset-authoring.ts";
export type { PresetDefinition } from "./presets/define-preset.ts";
export type { Preset, PresetAnswer, PresetContext, PresetEvent, PresetSample } from "./presets/preset.ts";
export type { SettingsSchema, PresetMapping, PresetPart, PresetSecret, PresetSettings } from "./config/preset-part.ts";
export type { AuthInput } from "./config/auth-schema.ts";
export type { Handshake } from "./config/handshake-schema.ts";
export type { PresetRegistry } from "./presets/preset-registry.ts";
export type { TransformContext, TransformFunction } from "./transform/transform.ts";
export { StoreError } from "./store/delivery-store.ts";
export type { DeliveryPage, DeliveryQuery, DeliveryStore } from "./store/delivery-store.ts";
export { ERRORS, IngressError, isIngressError } from "./errors.ts";
export type { ErrorCode, ErrorEntry } from "./errors.ts";
