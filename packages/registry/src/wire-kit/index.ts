export { answerInputs, type AnsweringAccess, type GivenAnswer } from '../access/answer-inputs.ts'
export { cancelActiveRun, requireRunOf } from '../access/conversation-runs.ts'
export { findActiveRun, runsOfConversation, type ConversationAccess } from '../access/find-active-run.ts'
export { startUnlessWaiting } from '../access/start-unless-waiting.ts'
export {
  resolveWireOptions,
  WIRE_OPTIONS,
  WireOptionsSchema,
  type WireOptions,
  type WireSettings
} from '../access/wire-options.ts'
export { RunActivity, type AskingPart } from '../contract/run-activity.ts'
export { isToolPart, type ToolPart } from '../contract/tool-part.ts'
export { sourceKey, VoidableList } from '../contract/voidable-list.ts'
export { removeRun } from '../erasure/remove-runs.ts'
export { fileUrlsAt, type FilePlace, type FileUrl } from '../files/file-urls.ts'
export { describeRoutes, jsonReply, type ApiInfo } from '../openapi/describe-routes.ts'
export type {
  OpenApiDocument,
  Operation,
  Parameter,
  PathItem,
  Response,
  Schema
} from '../openapi/open-api-document.ts'
export { refTo } from '../openapi/schema-objects.ts'
export { discardRest, hasRest } from '../requests/discard-rest.ts'
export { refuseEarly, refuseFloods, type EarlyRefusals } from '../requests/refuse-early.ts'
export { identifyCallers, type CallerErrors } from '../requests/identify-callers.ts'
export {
  closeLater,
  refuseRequests,
  toRefusal,
  type Refusal,
  type RefusalBody,
  type RefusalErrors
} from '../requests/refuse-requests.ts'
export { findEncodingFault, requireStrictJson, type StrictRequests } from '../requests/strict-json.ts'
export { tieToClient } from '../requests/tie-to-client.ts'
export { readPresent } from '../runs/log/log-reader.ts'
export { steerOf } from '../runs/turns/steering.ts'
export { partsOfTurn } from '../sessions/parts-of-turn.ts'
export { readTurn, readTurns, type Turn, type TurnPage } from '../sessions/read-turns.ts'
export { contentOfFile, type LinkedFile } from '../wire/data-url.ts'
export { keepPrivate, localCallOf } from '../requests/guard-scope.ts'
export {
  openSurface,
  type WireDescription,
  type WireRoutes,
  type WireSurface
} from '../surface/open-surface.ts'
export { surfaceErrors, type SurfaceErrors } from '../surface/surface-errors.ts'
