import type { TObject } from '@sinclair/typebox'
import type { ToolContext } from '@svc/runtime'
import type { ActionName, See } from '../browser-options.ts'
import type { Acted, Screenshot } from '../browser.ts'
import type { DeskAction } from '../desk-action.ts'
import type { GuardedDesk } from '../guard/guarded-desk.ts'
import type { Visit } from '../visit/visit.ts'

/** Arguments that fit the schema of an action. */
export type Args = Readonly<Record<string, unknown>>

/** What an action works with. */
export interface ActionScope {
  readonly desk: GuardedDesk
  readonly visit: Visit
  readonly call: ToolContext
}

/** What an action did. */
export interface Done {
  /** Our own words for the model, without any text of a page. */
  readonly said: string
  readonly acted?: Acted
  /** A piece of the page for the model; without it the model gets the page. */
  readonly excerpt?: string
  readonly screenshot?: Screenshot
}

/** An action of a browser, as the model calls it. */
export interface Action {
  readonly name: ActionName
  readonly description: string
  /** Its arguments, by how the model sees pages. */
  readonly input: (see: See) => TObject
  /** True if it changes nothing, so that it may be repeated after a crash. */
  readonly isReadOnly?: boolean
  /** What it does to the page, if that is known before; decides about approvals. */
  readonly toDesk?: (args: Args, scope: Omit<ActionScope, 'desk'>) => DeskAction
  /** Default: what `toDesk` returns. */
  readonly perform?: (args: Args, scope: ActionScope) => Promise<Done>
}
