/** The public API of the package: what hosts, plugin authors and transform authors import. */
export { WebhookIngress, type DeliveryReader, type WebhookIngressOptions } from "./ingress/plugin.ts";
export type { Operations } from "./ingress/open-running.ts";
export type {
  BulkOptions,
  BulkOutcome,
  DeliveryOperations,
  OperationOptions,
  Target,
} from "./ingress/operations/deliveries.ts";
export {
  UnknownScopeError,
  type HookOperations,
  type HookStates,
  type MappingState,
  type ScopeState,
} from "./ingress/operations/hooks.ts";
export type {
  Backtested,
  BacktestChange,
  BacktestPage,
  Preview,
  PreviewedMapping,
  PreviewedRun,
  PreviewOperations,
  SampleCall,
} from "./ingress/operations/preview.ts";
export type { BudgetUse } from "./core/budget-use.ts";
export type { OutageState } from "./dispatch/notify/outage-registry.ts";
export type { Gauges, GaugeOperations } from "./ingress/operations/gauges.ts";
export {
  sumByMapping,
  type DeliveryStats,
  type MappingStats,
  type StatsOperations,
} from "./ingress/operations/stats.ts";
export type { StatsRow } from "./storage/delivery-stats.ts";
export type { ProbeOperations, ProbeResult } from "./ingress/operations/probe.ts";
export type { TriedWait } from "./ingress/operations/wait-backtest.ts";
export type { WaitOperations, WaitView } from "./ingress/operations/waits.ts";
export { WaitRefused } from "./config/wait-wish.ts";
export { type WaitRequest, WaitRequestSchema, type WaitTrial, WaitTrialSchema } from "./ingress/waits/wait-request.ts";
export type { ActiveSubscription, SubscriptionOperations } from "./ingress/operations/subscriptions.ts";
export type { Operation, OperationOutcome } from "./ingress/operations/outcome.ts";
export type { ReplayOptions } from "./ingress/operations/plan.ts";
export type { DeliveryFilter } from "./ingress/operations/select.ts";
export {
  HostError,
  type AgentCatalog,
  type AgentInfo,
  type AgentRunRequest,
  type AgentRunResult,
  type ChannelInfo,
  type ChannelMessage,
  type ChannelTarget,
  type Clock,
  type ConfigSnapshot,
  type EventWrite,
  type GatewayFacts,
  type GatewayHost,
  type GatewayPlugin,
  type HeartbeatRequest,
  type HostAgents,
  type HostChannels,
  type HostLifecycle,
  type HostPaths,
  type HostSessions,
  type HttpRoute,
  type HttpRouter,
  type Logger,
  type ShutdownDeadline,
  type SystemEvent,
} from "./core/host.ts";
export { guardHook } from "./core/guard-hook.ts";
export type { AcceptedEvent, DispatchedEvent, SettledEvent } from "./core/events.ts";
export type { Denial, IngressHooks, UnauthenticatedRequest } from "./ingress/hooks.ts";
export type {
  Action,
  AgentAction,
  Credential,
  DeliveryDetail,
  DeliverySummary,
  EventActor,
  PayloadContext,
  RelatedDelivery,
  Resolution,
  RequestHead,
  WakeAction,
} from "./core/delivery.ts";
export type { EndedState, RunState, SettledState, State } from "./core/run.ts";
export type { AgentSpec, Attempt, CoalesceMode, ReplyOutcome, RunDetail, RunSpec, WakeSpec } from "./core/run.ts";
export type { TokenUsage } from "./core/token-usage.ts";
export type { MappingConfig } from "./config/mapping/schema.ts";
export { compileMapping, type CompiledMapping } from "./mapping/compile-mapping.ts";
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
export {
  StoreError,
  type DeliveryPage,
  type DeliveryQuery,
  type DeliveryState,
  type DeliveryStore,
} from "./storage/delivery-store.ts";
export type { Pause, Scope } from "./storage/operational-state.ts";
export {
  ERRORS,
  IngressError,
  isIngressError,
  type ErrorAudience,
  type ErrorCode,
  type ErrorEntry,
  type Refusal,
} from "./core/errors.ts";
