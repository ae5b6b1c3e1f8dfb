/** The public API of the package: what hosts, plugin authors and transform authors import. */
export { WebhookIngress } from "./ingress/plugin.ts";
export type { DeliveryReader, WebhookIngressOptions } from "./ingress/plugin.ts";
export type { Operations } from "./ingress/ingress.ts";
export type { BulkOptions, BulkOutcome, DeliveryOperations, Target } from "./ingress/operations/deliveries.ts";
export { UnknownScopeError } from "./ingress/operations/hooks.ts";
export type { BudgetUse, HookOperations, HookStates, MappingState, ScopeState } from "./ingress/operations/hooks.ts";
export type { Operation, OperationOutcome } from "./ingress/operations/outcome.ts";
export type { ReplayOptions } from "./ingress/operations/plan.ts";
export type { DeliveryFilter } from "./ingress/operations/select.ts";
export { HostError } from "./core/host.ts";
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
} from "./core/host.ts";
export { guardHook } from "./core/guard-hook.ts";
export type { AcceptedEvent, DispatchedEvent, SettledEvent } from "./core/events.ts";
export type { Denial, IngressHooks, UnauthenticatedRequest } from "./ingress/hooks.ts";
export type {
  Action,
  AgentAction,
  AgentSpec,
  Attempt,
  CoalesceMode,
  Credential,
  DeliveryDetail,
  ReplyOutcome,
  DeliverySummary,
  EndedState,
  EventActor,
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
} from "./core/delivery.ts";
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
} from "./presets/authoring.ts";
export type { PresetDefinition } from "./presets/define-preset.ts";
export type { Preset, PresetAnswer, PresetContext, PresetEvent, PresetSample } from "./presets/preset.ts";
export type { SettingsSchema, PresetMapping, PresetPart, PresetSecret, PresetSettings } from "./config/preset.ts";
export type { AuthInput } from "./config/auth/schema.ts";
export type { Handshake } from "./config/handshake.ts";
export type { PresetRegistry } from "./presets/registry.ts";
export { defineTransform } from "./transform/authoring.ts";
export type { TransformContext, TransformFunction, TransformResult } from "./transform/context.ts";
export type { TransformAction } from "./transform/result.ts";
export type { CallTransform, TransformCall } from "./transform/call.ts";
export { StoreError } from "./storage/delivery-store.ts";
export type { DeliveryPage, DeliveryQuery, DeliveryState, DeliveryStore } from "./storage/delivery-store.ts";
export type { Pause, Scope } from "./storage/operational-state.ts";
export { ERRORS, IngressError, isIngressError } from "./core/errors.ts";
export type { ErrorCode, ErrorEntry, Refusal } from "./core/errors.ts";
