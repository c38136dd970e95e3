import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Exposures } from '../access/exposures.ts'
import { resolveAuthorize } from '../access/policy.ts'
import { redactFields } from '../redaction/redact-stores.ts'
import {
  ANONYMOUS,
  ClientToolsSchema,
  ConversationSchema,
  StopTextsSchema,
  ToolChoiceSchema,
  WhenBusySchema,
  type Authorize,
  type Envelope,
  type Principal,
  type Runnable,
  type StoredRun,
  type Stores
} from '@svc/contract'
import { KeptFileSchema, type KeptInput } from '../engine/kept-input.ts'
import type { StartOptions } from '../engine/start-options.ts'

const ResumeStateSchema = Type.Object({
  input: Type.Optional(Type.Unknown()),
  files: Type.Optional(Type.Array(KeptFileSchema)),
  principal: Type.Unsafe<Principal>(
    Type.Object({ sub: Type.String(), scopes: Type.Array(Type.String()) }, { additionalProperties: true })
  ),
  userId: Type.Optional(Type.String()),
  afterTurn: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  envelope: Type.Optional(Type.Unsafe<Envelope>(Type.Object({}))),
  messages: Type.Optional(ConversationSchema),
  instructions: Type.Optional(Type.String()),
  tools: Type.Optional(ClientToolsSchema),
  toolChoice: Type.Optional(ToolChoiceSchema),
  stop: Type.Optional(StopTextsSchema),
  whenBusy: Type.Optional(WhenBusySchema),
  surface: Type.Optional(
    Type.String({ description: 'The surface whose policy decided what the run may reach' })
  ),
  guarded: Type.Boolean({ description: 'Whether the app gave that policy' }),
  keyed: Type.Boolean({ description: 'Whether the caller gave a key for a model provider' })
})
/** The data that another process needs to resume a run, besides its record. Never contains keys of model providers. */
export type ResumeState = Static<typeof ResumeStateSchema>

const FROM_CALLER = ['input', 'files', 'envelope', 'messages', 'instructions', 'tools', 'stop'] as const

/**
 * True if another process may resume the runs of a runnable that start with these options. A workflow is resumed whatever its
 * client does.
 * @param durable false if nothing outlasts the process
 */
export function isResumable(
  { kind, resumable }: Runnable,
  { onDisconnect }: StartOptions,
  durable: boolean
): boolean {
  return resumable === true && (kind === 'workflow' || (durable && onDisconnect !== 'cancel'))
}

/** Builds the state, without the caller's keys. The principal is not redacted. */
export function toResumeState(
  { input, files }: KeptInput,
  options: StartOptions,
  exposures: Pick<Exposures, 'policyOf'>
): ResumeState {
  const { principal = ANONYMOUS, userId, afterTurn, envelope, surface, authorize, redact, whenBusy } = options
  const { messages, instructions, tools, toolChoice, stop } = options
  const policy = surface === undefined ? undefined : exposures.policyOf(surface)
  const state = {
    ...(input !== undefined && { input }),
    ...(files.length > 0 && { files: [...files] }),
    principal,
    ...(userId !== undefined && { userId }),
    ...(afterTurn !== undefined && { afterTurn }),
    ...(envelope !== undefined && { envelope }),
    ...(messages !== undefined && { messages: [...messages] }),
    ...(instructions !== undefined && { instructions }),
    ...(tools !== undefined && { tools: [...tools] }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(stop !== undefined && { stop: [...stop] }),
    ...(whenBusy !== undefined && { whenBusy }),
    ...(surface !== undefined && { surface }),
    guarded: policy?.isOwn ?? authorize !== undefined,
    keyed: redact !== undefined
  }
  return redact === undefined ? state : redactFields(state, FROM_CALLER, redact)
}

/** Loads the state of a run; undefined if the run cannot be resumed. */
export async function readResumeState(
  { checkpoints }: Stores,
  runId: string
): Promise<ResumeState | undefined> {
  const state = (await checkpoints.load(runId))?.state
  return Value.Check(ResumeStateSchema, state) ? state : undefined
}

const refuse: Authorize = () => ({ allowed: false })

/**
 * The options that a run resumes with: the service's own keys, and the policy of the surface that started it. If that surface
 * is gone, a run that the app's policy guarded is guarded by the app's default, and may reach nothing without one.
 */
export function toStartOptions(
  { sessionId, registry }: Pick<StoredRun, 'sessionId' | 'registry'>,
  { input: _, files: __, guarded, ...asked }: ResumeState,
  exposures: Pick<Exposures, 'policyOf' | 'policy'>
): StartOptions {
  const policy = asked.surface === undefined ? undefined : exposures.policyOf(asked.surface)
  const { authorize: fallback = refuse } = exposures.policy
  const authorize = policy?.authorize ?? (guarded ? resolveAuthorize(fallback) : undefined)
  return { ...asked, registry, sessionId, authorize }
}
