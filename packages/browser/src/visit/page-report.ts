import type { DeskPlace, Look } from '../browser.ts'
import { diffLooks } from '../look/diff.ts'
import type { Visit } from './visit.ts'

/** What an action led to, for the model. */
export interface Report {
  /** Our own words. */
  readonly said: string
  /** From the page: dismissed dialogs, downloads, refused hosts. */
  readonly notices: readonly string[]
  readonly place: DeskPlace
  /** The page, if it was looked at. */
  readonly look?: Look | undefined
  /** A piece of the page instead. */
  readonly excerpt?: string | undefined
}

// Then the model gets the whole page again, so that earlier states can be left out of its prompt.
const MAX_CHANGES = 4

/** Writes a report; the model gets only what changed on a page that it has. */
export function writeReport(visit: Visit, { said, notices, place, look, excerpt }: Report): string {
  const head = describePlace(place)
  const lines = notices.map((notice) => `Notice: ${notice}`)
  if (excerpt !== undefined)
    return `${said}\n${visit.boundary.enclose([...head, ...lines, excerpt].join('\n'), 'excerpt')}`
  const { what, text } = look === undefined ? { what: 'changes' as const, text: '' } : showLook(visit, look)
  return `${said}\n${visit.boundary.enclose([...head, ...lines, text].filter(Boolean).join('\n'), what)}`
}

function describePlace({ url, title, tabs, dialog }: DeskPlace): string[] {
  return [
    `URL: ${url}`,
    `Title: ${oneLine(title)}`,
    ...(tabs.length > 1
      ? [
          `Tabs: ${tabs.map((tab) => `${tab.index}${tab.isCurrent ? ' (current)' : ''} ${tab.url}`).join(', ')}`
        ]
      : []),
    ...(dialog
      ? [`Dialog: ${dialog.type} ${JSON.stringify(dialog.message)}: answer it with browser_dialog`]
      : [])
  ]
}

function showLook(visit: Visit, look: Look): { what: 'whole' | 'changes'; text: string } {
  if (visit.plan.see === 'pixels') {
    visit.shown = { look, changes: 0 }
    return { what: 'whole', text: '' }
  }
  const { shown } = visit
  if (shown?.look.url === look.url && shown.changes < MAX_CHANGES) {
    const text = describeChanges(shown.look, look)
    if (text !== undefined) {
      visit.shown = { look, changes: shown.changes + 1 }
      return { what: 'changes', text }
    }
  }
  visit.shown = { look, changes: 0 }
  return { what: 'whole', text: look.text }
}

function describeChanges(before: Look, after: Look): string | undefined {
  if (before.hash === after.hash && before.text === after.text) return 'The page has not changed.'
  const difference = diffLooks(before.text, after.text)
  if (difference === '') return 'Only parts of the page that are not shown have changed.'
  return difference && `Changes since the page was last shown, as a unified diff:\n${difference}`
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 300)
}
