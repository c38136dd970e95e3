import type { Page } from 'playwright-core'
import type { Drawings } from './drawings.ts'
import { BRANCHED, type Content } from './make-content.ts'

/** A picture of the console, in each of its looks. */
export interface Shot {
  /** The view that is shown. */
  readonly view: string
  /** Of the file; default: that of the view. */
  readonly name?: string
  /** The address in the page. */
  readonly path: string
  /** Does what a visitor does, and waits for what must be seen. */
  prepare(page: Page): Promise<unknown>
}

/** All pictures, in the order in which the content allows them. */
export function listShots({ teamRun, agentRun, browserRun }: Content, { shelf }: Drawings): readonly Shot[] {
  return [
    { view: 'runs', path: 'runs', prepare: see('.run-row') },
    { view: 'sessions', path: 'sessions', prepare: see('.session-row') },
    {
      view: 'sessions',
      name: 'session',
      path: `sessions/agent/assistant/${BRANCHED}`,
      prepare: see('.branches')
    },
    { view: 'inbox', path: 'inbox', prepare: seeInbox },
    { view: 'health', path: 'health', prepare: see('.card meter') },
    { view: 'registry', path: 'registry', prepare: see('.registry-list code') },
    { view: 'run', path: `run/${teamRun}`, prepare: see('.span') },
    {
      view: 'run',
      name: 'run-parts',
      path: `run/${agentRun}?tab=parts`,
      async prepare(page) {
        await page.getByRole('button', { name: /tool\.result read_stock/ }).click()
        await page.locator('.part-detail').waitFor()
      }
    },
    {
      view: 'run',
      name: 'run-wires',
      path: `run/${agentRun}?tab=wires`,
      prepare: see('.run-wires > :nth-child(4) li')
    },
    { view: 'browser', path: `browser/${browserRun}`, prepare: see('.shot:nth-child(2) img') },
    {
      view: 'talk',
      path: 'talk/agent/buyer',
      async prepare(page) {
        await page
          .getByLabel('Attach files')
          .setInputFiles({ name: 'shelf.png', mimeType: 'image/png', buffer: shelf })
        await say(page, 'buyer', 'What do we order this week? This is the shelf.')
        await page.getByText('regenerate').waitFor()
      }
    },
    {
      view: 'talk',
      name: 'talk-team',
      path: 'talk/team/naming',
      async prepare(page) {
        await say(page, 'naming', 'We have a new oolong, smoked over pine. Name it.')
        await page.getByRole('button', { name: 'Approve' }).click()
        await page.getByText('regenerate').waitFor()
      }
    }
  ]
}

const see = (selector: string) => (page: Page) => page.locator(selector).first().waitFor()

async function say(page: Page, name: string, message: string): Promise<void> {
  await page.getByLabel(`Message to ${name}`).fill(message)
  await page.keyboard.press('Enter')
}

async function seeInbox(page: Page): Promise<void> {
  await page.getByText('A table at').waitFor()
  await page.locator('.answer-card .json').waitFor()
}
