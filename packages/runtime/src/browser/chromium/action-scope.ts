import type { DeskOptions, HostPolicy } from '../browser.ts'
import type { Dialogs } from './dialogs.ts'
import type { Tabs } from './tabs.ts'

/** What an action may use of its desk. */
export interface ActionScope {
  readonly tabs: Tabs
  readonly dialogs: Dialogs
  readonly hosts: HostPolicy
  readonly timeout: DeskOptions['timeout']
  /** Adds a notice for the model to the outcome of the action. */
  readonly notice: (text: string) => void
}
