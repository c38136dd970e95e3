import { RUN_ERR_BROWSER_ACTION_FAILED, RUN_ERR_BROWSER_STALE_REF } from '../errors.ts'
import type { Action, Args } from '../actions.ts'
import type { DeskAction, Spot, Target } from '../browser.ts'
import { cleanText } from '../look/to-lines.ts'
import type { ToolContext } from '@svc/runtime'
import type { Visit } from '../visit/visit.ts'
import { kindsOfName, type Assessment, type Decided, type RiskKind } from './risk-kinds.ts'

/**
 * Checks that a call still does what was decided about: a page can change while the call waits.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED
 */
export async function requireSame(
  decided: Decided,
  action: Action,
  args: Args,
  visit: Visit,
  call: ToolContext
): Promise<void> {
  // The approver has edited them, and decided about the edited ones.
  if (decided.args !== JSON.stringify(args)) return
  const now = await assess(action, args, visit, call)
  const isNew = now.kinds.some((kind) => decided.watched.includes(kind) && !decided.kinds.includes(kind))
  if (!isNew && (decided.kinds.length === 0 || now.about === decided.about)) return
  throw new RUN_ERR_BROWSER_ACTION_FAILED('the page has changed since the call was decided about; look again')
}

/** Assesses an action on the page as it is now. Call it while nothing else uses the desk. */
export async function assess(
  action: Action,
  args: Args,
  visit: Visit,
  call: ToolContext
): Promise<Assessment> {
  const json = JSON.stringify(args)
  const none = { kinds: [], about: '', args: json }
  const deskAction = toDeskAction(action, args, visit, call)
  if (deskAction === undefined) return none
  if (deskAction.action === 'open') return { ...assessUrl(deskAction.url, visit, call), args: json }
  if (!visit.isOpen || !isRisky(action, deskAction)) return none
  const target = await targetOf(deskAction, visit)
  if (target === 'gone') return none
  const kinds = kindsOf(action, deskAction, target, visit)
  return { kinds, about: describe(action, deskAction, target, visit), args: json }
}

function toDeskAction(action: Action, args: Args, visit: Visit, call: ToolContext): DeskAction | undefined {
  try {
    return action.toDesk?.(args, { visit, call })
  } catch {
    // The call itself fails with the same error.
    return undefined
  }
}

function assessUrl(url: string, visit: Visit, call: ToolContext): Omit<Assessment, 'args'> {
  const { seen, plan } = visit
  const host = URL.parse(url)?.host ?? ''
  const piece = seen.pieceIn(url, userText(call))
  const isNew = host !== '' && !seen.hasVisited(url) && !isNamedByUser(host, call)
  const about = `Opens ${quoteUrl(plan.secrets.redact(url))}`
  if (piece !== undefined)
    return { kinds: ['newHost'], about: `${about}, and passes on text of another site: ${quote(piece)}` }
  return { kinds: isNew ? ['newHost'] : [], about }
}

// Hosts that the user asked for need no approval; `shop.example` in a message does not name `hop.example`.
function isNamedByUser(host: string, call: ToolContext): boolean {
  const escaped = host.replaceAll(/[.[\]]/g, String.raw`\$&`)
  return new RegExp(String.raw`(?<![\w.-])${escaped}(?![\w-]|\.\w)`, 'i').test(userText(call))
}

function userText({ messages }: ToolContext): string {
  const parts = messages.flatMap((message) => (message.role === 'user' ? message.content : []))
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function isRisky({ name }: Action, { action }: DeskAction): boolean {
  return (
    name === 'download' || ['click', 'type', 'press', 'check', 'select', 'upload', 'drag'].includes(action)
  )
}

/** The target of an action; undefined where it has none or the page does not say. */
async function targetOf(action: DeskAction, visit: Visit): Promise<Target | 'gone' | undefined> {
  const spot = spotOf(action)
  if (spot === undefined) return undefined
  const desk = await visit.desk()
  try {
    return await desk.target(spot)
  } catch (err) {
    return err instanceof RUN_ERR_BROWSER_STALE_REF ? 'gone' : undefined
  }
}

function spotOf(action: DeskAction): Spot | undefined {
  if (action.action === 'drag') return action.to
  return 'at' in action ? action.at : undefined
}

function kindsOf(
  { name }: Action,
  action: DeskAction,
  target: Target | undefined,
  { seen }: Visit
): readonly RiskKind[] {
  const kinds = new Set<RiskKind>()
  if (action.action === 'upload') kinds.add('upload')
  if (name === 'download' || target?.isDownload === true) kinds.add('download')
  const sendsAnyForm = action.action === 'drag' || pressesEnter(action)
  const activates = sendsAnyForm || action.action === 'click' || clicksButton(action, target)
  if (!activates) return [...kinds]
  // Without facts of the target, the worst is assumed.
  const submits =
    target === undefined || target.submits === true || (sendsAnyForm && target.form !== undefined)
  if (submits) kinds.add('submit')
  const path = submits ? (URL.parse(target?.form?.action ?? '')?.pathname ?? '') : ''
  for (const kind of kindsOfName(`${target?.name ?? ''} ${path.replaceAll(/[/_-]/g, ' ')}`)) kinds.add(kind)
  for (const url of [target?.href, submits ? target?.form?.action : undefined])
    if (url !== undefined && /^https?:/.test(url) && !seen.hasVisited(url)) kinds.add('newHost')
  return [...kinds]
}

// Fields, boxes and lists that a page draws itself are clicked, and any of them may be a button.
function clicksButton(action: DeskAction, target: Target | undefined): boolean {
  if (!['type', 'check', 'select', 'upload'].includes(action.action) || spotOf(action) === undefined)
    return false
  if (target === undefined || target.submits === true) return true
  return ['button', 'a', 'area', 'summary'].includes(target.tag) || ['button', 'link'].includes(target.role)
}

function pressesEnter(action: DeskAction): boolean {
  if (action.action === 'type') return action.submit === true || action.text.includes('\n')
  return action.action === 'press' && /^(?:.*\+)?(?:Enter|NumpadEnter|Space| )$/i.test(action.key)
}

function describe(action: Action, deskAction: DeskAction, target: Target | undefined, visit: Visit): string {
  const at = target === undefined ? 'the page' : `the ${target.role || target.tag} ${quote(target.name)}`
  const host = URL.parse(target?.frameUrl ?? visit.url ?? '')?.host ?? 'the page'
  const form = target?.form && `; its form goes to ${quoteUrl(target.form.action)}`
  const typed =
    deskAction.action === 'type' ? ` ${quote(String(visit.plan.secrets.hide(deskAction.text)))} into` : ''
  const files =
    deskAction.action === 'upload' ? ` ${deskAction.files.map((file) => quote(file.name)).join(', ')} to` : ''
  const href = target?.href === undefined ? '' : `, a link to ${quoteUrl(target.href)}`
  return `${action.name}${typed}${files} ${at}${href} on ${host}${form ?? ''}`
}

// The host is never cut: what it begins with does not say whose it is.
function quoteUrl(url: string): string {
  return quote(url, (URL.parse(url)?.origin.length ?? 0) + MAX_QUOTED)
}

function quote(text: string, maxChars: number = MAX_QUOTED): string {
  return JSON.stringify(cleanText(text).slice(0, maxChars))
}

const MAX_QUOTED = 120
