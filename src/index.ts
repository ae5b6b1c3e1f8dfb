/** The public API of the package: what hosts, plugin authors and transform authors import. */
export { WebhookIngress } from "./plugin.ts";
export type { DeliveryReader, WebhookIngressOptions } from "./plugin.ts";
export type { Operations } from "./ingress.ts";
export type { BulkOptions, BulkOutcome, DeliveryOperations, Target } from "./operator/delivery-operations.ts";
export { UnknownScopeError } from "./operator/hook-operations.ts";
export type { BudgetUse, HookOperations, HookStates, MappingState, ScopeState } from "./operator/hook-operations.ts";
export type { Operation, OperationOutcome } from "./operator/operation-outcome.ts";
export type { ReplayOptions } from "./operator/plan-operation.ts";
export type { DeliveryFilter } from "./operator/select-deliveries.ts";
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
  Attempt,
  CoalesceMode,
  Credential,
  DeliveryDetail,
  DeliveryOutcome,
  DeliverySummary,
  EndedState,
  EventSender,
  PayloadContext,
  RelatedDelivery,
  RequestHead,
  RunDetail,
  RunSpec,
  RunState,
  SettledState,
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
export { defineTransform } from "./transform/define-transform.ts";
export type { TransformContext, TransformFunction, TransformResult } from "./transform/transform.ts";
export type { TransformAction } from "./transform/transform-result.ts";
export type { CallTransform, TransformCall } from "./transform/transform-call.ts";
export { StoreError } from "./store/delivery-store.ts";
export type { DeliveryPage, DeliveryQuery, DeliveryState, DeliveryStore } from "./store/delivery-store.ts";
export type { Pause, Scope } from "./store/operational-state.ts";
export { ERRORS, IngressError, isIngressError } from "./errors.ts";
export type { ErrorCode, ErrorEntry, Refusal } from "./errors.ts";
