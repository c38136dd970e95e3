import { expose, isExposed } from '@svc/contract'
import { toolContent, type ToolContent, type ToolContext } from '@svc/runtime'
import { fileTypeFromBuffer } from 'file-type'
import mime from 'mime'
import type { Action, Args, Done } from '../actions.ts'
import type { DeskPlace, Download, Look, Screenshot } from '../browser.ts'
import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_HOST_REFUSED } from '../errors.ts'
import { requireSame } from '../guard/assessment.ts'
import type { GuardedDesk } from '../guard/guarded-desk.ts'
import { cleanText } from '../look/to-lines.ts'
import { diffLooks } from '../look/take-look.ts'
import type { BrowserPlan } from '../plan-browser.ts'
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

// Without a desk, nothing that the model could do helps.
const ENDING = new Set(['RUN_ERR_BROWSER_MISSING', 'RUN_ERR_BROWSER_FAILED', 'RUN_ERR_BROWSER_BUSY'])

/** Serves one call of a browser tool, after all earlier ones of the run. @throws RUN_ERR_BROWSER_… */
export function serveAction(
  action: Action,
  args: Args,
  visit: Visit,
  call: ToolContext
): Promise<string | ToolContent> {
  return visit.exclusive(async () => {
    call.signal.throwIfAborted()
    try {
      return await perform(action, args, visit, call)
    } catch (err) {
      call.signal.throwIfAborted()
      if (isExposed(err) && ENDING.has(err.code)) call.failRun(err)
      throw afterFailure(err, visit, call)
    }
  })
}

async function perform(
  action: Action,
  args: Args,
  visit: Visit,
  call: ToolContext
): Promise<string | ToolContent> {
  const { events, plan } = visit
  events.action(call, action.name, () => plan.secrets.hide(args))
  requireNoPlaceholder(action, args, visit)
  if (action.name !== 'open' && !visit.isOpen)
    throw new RUN_ERR_BROWSER_ACTION_FAILED(
      'no page is open; pages of earlier are gone, so open one with browser_open'
    )
  const desk = await visit.desk()
  const decided = visit.assessed.get(call.toolCallId)
  if (decided !== undefined) await requireSame(decided, action, args, visit, call)
  const { said, acted, excerpt, screenshot } = await performOn(desk, action, args, visit, call)
  const kept = acted === undefined ? [] : await keepDownloads(acted.downloads, plan, call)
  const { place, look, fault } = await lookAt(desk, excerpt === undefined)
  if (place.url !== 'about:blank') visit.seen.add(place.url, look?.text ?? excerpt ?? '')
  events.page(call, place)
  const verdict = visit.loops.acted(
    action.name,
    withoutRefs(args, visit.shown?.look),
    look?.hash ?? excerpt ?? ''
  )
  if (verdict?.isOver === true) call.stopRun('max-steps')
  const notices = [...(acted?.notices ?? []), ...kept, ...visit.takeBlocked(), ...fault]
  const words = [said, verdict?.text].filter(Boolean).join('\n')
  const text = writeReport(visit, { said: words, notices, place, look, excerpt })
  const image = screenshot ?? (excerpt === undefined ? await picture(desk, visit, call) : undefined)
  if (typeof image !== 'object') return image === undefined ? text : `${text}\n${image}`
  const { mimeType, data } = image
  const filename = visit.screenshotName(call.stepNumber)
  const shown = { mimeType, filename, data: data.toString('base64'), purpose: 'screenshot' }
  return toolContent([
    { type: 'text', text },
    { type: 'image', ...shown }
  ])
}

/** Arguments with elements by their lines: a page that is loaded again has other refs. */
function withoutRefs(args: Args, look: Look | undefined): Args {
  const lines = look?.text.split('\n') ?? []
  const named = Object.entries(args).map(([key, value]) => {
    const at = /^(?:ref|toRef)$/.test(key)
      ? lines.findIndex((line) => line.includes(`[ref=${String(value)}]`))
      : -1
    return [key, at < 0 ? value : `${at}: ${lines[at]!.replace(`[ref=${String(value)}]`, '')}`]
  })
  return Object.fromEntries(named) as Args
}

async function performOn(
  desk: GuardedDesk,
  action: Action,
  args: Args,
  visit: Visit,
  call: ToolContext
): Promise<Done> {
  const scope = { desk, visit, call }
  if (action.perform !== undefined) return action.perform(args, scope)
  const acted = await desk.act(action.toDesk!(args, scope), call.signal)
  return { said: `Done: ${action.name}.`, acted }
}

// The action is done, so that a page that does not show itself is no failure of it.
async function lookAt(desk: GuardedDesk, isWanted: boolean) {
  let look: Look | undefined
  let fault: string[] = []
  try {
    if (isWanted) look = await desk.look()
  } catch (err) {
    if (!isExposed(err)) throw err
    fault = [err.message]
  }
  return { look, fault, place: look ?? (await desk.place()) }
}

/** The image for the model, or why there is none; one that it does not see is kept, if that is wanted. */
async function picture(
  desk: GuardedDesk,
  visit: Visit,
  call: ToolContext
): Promise<Screenshot | string | undefined> {
  const { see, keepsScreenshots } = visit.plan
  if (see === 'tree' && !keepsScreenshots) return undefined
  try {
    const screenshot = await desk.screenshot(see === 'both')
    if (see !== 'tree') return screenshot
    const { data, mimeType } = screenshot
    await call.keepFile({
      data,
      mimeType,
      filename: visit.screenshotName(call.stepNumber),
      purpose: 'screenshot'
    })
    return undefined
  } catch (err) {
    call.signal.throwIfAborted()
    if (!isExposed(err)) throw err
    return see === 'tree' ? undefined : visit.boundary.enclose(err.message, 'excerpt')
  }
}

// Anywhere else they would leave the browser, or reach another host.
function requireNoPlaceholder({ name }: Action, args: Args, { plan }: Visit): void {
  const { text, ...rest } = args
  const elsewhere = name === 'type' ? rest : { ...rest, text }
  if (plan.secrets.isNamedIn(JSON.stringify(elsewhere)))
    throw new RUN_ERR_BROWSER_HOST_REFUSED('a secret can only be typed into a field')
}

/** The error for the model: a page may have chosen its words. */
function afterFailure(err: unknown, visit: Visit, call: ToolContext): unknown {
  const verdict = visit.loops.failed()
  if (verdict !== undefined) call.stopRun('max-steps')
  if (!isExposed(err)) return err
  const { code, statusCode, message } = err
  const ours = code === 'RUN_ERR_BROWSER_ACTION_FAILED' || code === 'RUN_ERR_BROWSER_HOST_REFUSED'
  const safe = ours ? visit.boundary.enclose(cleanText(message, 2_000), 'excerpt') : message
  const text = verdict === undefined ? safe : `${verdict.text}\n${safe}`
  return expose({ code, message: text, ...(statusCode !== undefined && { statusCode }) })
}

/** Keeps what pages offered as files of the run, if their type is allowed; returns a line for each. */
async function keepDownloads(
  downloads: readonly Download[],
  { downloads: rules, secrets }: BrowserPlan,
  call: ToolContext
): Promise<string[]> {
  const lines: string[] = []
  for (const download of downloads) {
    const { filename } = download
    const refuse = (why: string) => lines.push(`The download ${JSON.stringify(filename)} was refused: ${why}`)
    if (rules === undefined) refuse('downloads are not allowed')
    else {
      const data = await bytesOf(download)
      const mimeType = await typeOf(filename, data)
      if (mimeType === undefined) refuse('its content does not fit its name')
      else if (!rules.types.includes(mimeType)) refuse(`${mimeType} is not allowed`)
      else if (secrets.isIn(data)) refuse('it has a secret')
      else {
        const { fileId, size } = await call.keepFile({ data, mimeType, filename, purpose: 'download' })
        lines.push(
          fileId === undefined
            ? `The download ${JSON.stringify(filename)} could not be kept`
            : `Downloaded ${JSON.stringify(filename)}, ${mimeType}, ${size} bytes, as file ${fileId}`
        )
      }
    }
  }
  return lines
}

async function bytesOf(download: Download): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of download.content()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** The media type of a file by its name; undefined if its bytes say otherwise. */
async function typeOf(filename: string, data: Buffer): Promise<string | undefined> {
  const named = mime.getType(filename) ?? 'application/octet-stream'
  const found = await fileTypeFromBuffer(data)
  if (found === undefined) return isText(named) && data.includes(0) ? undefined : named
  const isXml = found.mime === 'application/xml' && (named.endsWith('xml') || named === 'text/html')
  return found.mime === named || isXml ? named : undefined
}

function isText(type: string): boolean {
  return (
    type.startsWith('text/') || type === 'application/json' || type.endsWith('+json') || type.endsWith('xml')
  )
}
