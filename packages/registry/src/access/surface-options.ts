import { Type, type Static } from '@sinclair/typebox'
import type { Authorize, Runnable, RunnableKind } from '@svc/contract'
import type { Registry } from '../registry.ts'
import type { SurfacePolicy } from './policy.ts'

/** A protocol that an app serves its runnables by. Paths are those of the app, from its root. */
export const WireSchema = Type.Object(
  {
    name: Type.String({
      description:
        'The protocol: `http`, `socket.io`, `a2a`, `mcp`, `ag-ui`, `ui-stream`, `openai` or `realtime`'
    }),
    path: Type.String({ description: 'Where its clients begin' }),
    document: Type.Optional(
      Type.String({ description: 'The path of what describes it: OpenAPI, AsyncAPI or an agent card' })
    )
  },
  { title: 'Wire' }
)
export type Wire = Readonly<Static<typeof WireSchema>>

/** The description of a surface for the run engine. */
export interface SurfaceOptions {
  /** Its name, stable across restarts: `@svc/http prefix "/api"`. */
  readonly surface: string
  /** The registry it looks up runnables in; `false`: none. */
  readonly registry: Registry | false
  /** The kinds of the registry's runnables that it exposes; default: all. */
  readonly kinds?: readonly RunnableKind[]
  /** Its own runnables, which are looked up first. */
  readonly named?: readonly Runnable[] | undefined
  /** The protocol that it serves them by; none for the app itself. */
  readonly wire?: Wire | undefined
  /** Default: the app's, if it has one. */
  readonly policy?: SurfacePolicy | undefined
}

/** The start options of every run of a surface's runnable. */
export interface SurfaceStartOptions {
  readonly registry: string
  readonly surface: string
  readonly authorize: Authorize | undefined
}
