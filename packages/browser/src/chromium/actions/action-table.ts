import type { DeskAction } from '../../desk-action.ts'
import type { Act } from './act.ts'
import { check } from './check.ts'
import { click, hover } from './click.ts'
import { drag } from './drag.ts'
import { back, open, reload } from './navigate.ts'
import { press } from './press.ts'
import { scroll } from './scroll.ts'
import { select } from './select.ts'
import { type } from './type.ts'
import { upload } from './upload.ts'
import { wait } from './wait.ts'

/** How an action is performed, and which time-out of the desk limits it. */
export interface Performer<A extends DeskAction> {
  readonly limit: 'action' | 'navigation'
  perform(act: Act, action: A): Promise<void>
}

type Performers = {
  readonly [K in DeskAction['action']]: Performer<Extract<DeskAction, { action: K }>>
}

/** Each action of a desk. */
export const ACTIONS: Performers = {
  open: { limit: 'navigation', perform: open },
  back: { limit: 'navigation', perform: back },
  reload: { limit: 'navigation', perform: reload },
  click: { limit: 'action', perform: click },
  hover: { limit: 'action', perform: hover },
  type: { limit: 'action', perform: type },
  press: { limit: 'action', perform: press },
  select: { limit: 'action', perform: select },
  check: { limit: 'action', perform: check },
  drag: { limit: 'action', perform: drag },
  scroll: { limit: 'action', perform: scroll },
  wait: { limit: 'action', perform: wait },
  upload: { limit: 'action', perform: upload },
  tab: {
    limit: 'action',
    async perform({ desk }, { index, close = false }) {
      await (close ? desk.tabs.close(index) : desk.tabs.select(index))
    }
  },
  dialog: {
    limit: 'action',
    async perform(act, { accept, text }) {
      if (!(await act.step(() => act.desk.dialogs.answer(act.page, accept, text))))
        act.fail('no dialog is open')
    }
  }
}
