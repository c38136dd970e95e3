import type { ElementHandle } from 'playwright-core'
import type { DeskAction, Spot } from '../../browser.ts'
import { cutText } from '../../look/to-lines.ts'
import type { Act } from './act.ts'
import { HandleElement, type Found } from './find-element.ts'
import type { PageDocument, PageElement } from './page-dom.ts'

type Press = Extract<DeskAction, { action: 'press' }>

// Names that models use for keys, beside those of Playwright.
const ALIASES: Readonly<Record<string, string>> = {
  cmd: 'Meta',
  command: 'Meta',
  ctrl: 'Control',
  del: 'Delete',
  down: 'ArrowDown',
  esc: 'Escape',
  left: 'ArrowLeft',
  option: 'Alt',
  return: 'Enter',
  right: 'ArrowRight',
  up: 'ArrowUp'
}

/** Presses a key, or keys together, in an element or in what has the focus. */
export async function press(act: Act, { key, at }: Press): Promise<void> {
  if (at !== undefined) {
    const element = await act.find(at)
    await act.step(() => element.focus())
  }
  await pressKey(act, key)
}

/** @throws RUN_ERR_BROWSER_ACTION_FAILED if there is no such key */
async function pressKey(act: Act, key: string): Promise<void> {
  const { keyboard } = act.page
  const keys = splitKeys(key)
  try {
    await act.step(() => keyboard.press(keys.join('+')))
  } catch (err) {
    if (!(err instanceof Error && err.message.includes('Unknown key'))) throw err
    // Playwright holds down the keys before the one that it does not know.
    for (const held of keys.slice(0, -1)) await keyboard.up(held).catch(() => undefined)
    // A character that is on no key of the keyboard, e.g. é.
    if (keys.length === 1 && /^.$/su.test(key)) await act.step(() => keyboard.insertText(key))
    else
      act.fail(
        `there is no key "${key.slice(0, 40)}"; keys are named like Enter, Tab, Escape, ArrowDown or Control+A`
      )
  }
}

function splitKeys(key: string): string[] {
  // The last of several may be the plus itself.
  const parts = key === '+' ? ['+'] : key.replace(/\+\+$/, '+Plus').split('+')
  return parts.map((part) => (part === 'Plus' ? '+' : (ALIASES[part.toLowerCase()] ?? part)))
}

// Characters that are typed key by key; more are inserted at once, all but the last.
const KEYED = 40

/** Types into what has the focus. Pages that listen to keys get at least the last one. */
async function enterText(act: Act, text: string): Promise<void> {
  const { keyboard } = act.page
  // Enter would submit a form, and Tab leave the field.
  const isKeyed = text.length <= KEYED && !/[\n\r\t]/.test(text)
  const last = isKeyed ? text : lastKey(text)
  const first = text.slice(0, text.length - last.length)
  if (first !== '') await act.step(() => keyboard.insertText(first))
  if (last !== '') await act.step(() => keyboard.type(last))
}

/** Enters a long text, for which Chromium's input would take seconds: sets it as scripts do, all but the last character. */
async function setText(act: Act, field: Found, text: string, append: boolean): Promise<void> {
  const last = lastKey(text)
  const set = { text: text.slice(0, text.length - last.length), append }
  await act.step(() => field.evaluate(setValueOf, set))
  if (last !== '') await act.step(() => act.page.keyboard.type(last))
}

// One character that a key could have typed; '' if the text ends with another.
const lastKey = (text: string) => /[\x21-\x7E]$/.exec(text)?.[0] ?? ''

interface FieldGlobals {
  readonly InputEvent: new (type: string, options: Readonly<Record<string, unknown>>) => object
}

// Runs in the page. The setter of the prototype, since frameworks replace that of the element.
function setValueOf(field: PageElement, { text, append }: { text: string; append: boolean }): void {
  const { InputEvent } = globalThis as unknown as FieldGlobals
  const { value: before = '', maxLength = -1 } = field
  const whole = append ? before + text : text
  const prototype = Object.getPrototypeOf(field) as PageElement
  const { set } = Object.getOwnPropertyDescriptor(prototype, 'value')!
  set!.call(field, maxLength < 0 ? whole : whole.slice(0, maxLength))
  field.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertText' }))
}

/** What decides how a text gets into a field. */
export interface TextField {
  /** The type of an input, lower-case; '' for other fields. */
  readonly type: string
  /** True if the browser takes a whole value, e.g. a date, and no keys. */
  readonly isSet: boolean
  /** True for the browser's own fields, false for rich text. */
  readonly isPlain: boolean
  /** True if it shows suggestions while its text changes. */
  readonly suggests: boolean
  readonly maxLength: number | undefined
  /** Why it takes no text now. */
  readonly fault: string | undefined
}

/** Runs in the page. */
function readTextField(field: PageElement): TextField {
  const type = field.tagName === 'INPUT' ? (field.type ?? '') : ''
  const { maxLength = -1 } = field
  const isOff = field.matches(':disabled') || field.closest('[aria-disabled=true]') !== null
  const isFixed = field.matches('[readonly], [aria-readonly=true]')
  return {
    type,
    isSet: ['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'].includes(type),
    isPlain: field.tagName === 'INPUT' || field.tagName === 'TEXTAREA',
    suggests:
      field.getAttribute('role') === 'combobox' ||
      /list|both/.test(field.getAttribute('aria-autocomplete') ?? ''),
    maxLength: maxLength >= 0 ? maxLength : undefined,
    fault: isOff ? 'the element is disabled' : isFixed ? 'the element is read-only' : undefined
  }
}

/** Runs in the page: true for an element that takes text itself. */
function isTextField(element: PageElement): boolean {
  const { tagName, type = '' } = element
  const others = ['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image']
  return tagName === 'TEXTAREA' || (tagName === 'INPUT' && !others.includes(type))
}

/** Runs in the page: what takes the text if one is typed into an element. A string says why nothing does. */
function textFieldOf(element: PageElement): PageElement | string {
  const fields =
    'input:not([type=hidden]), textarea, [contenteditable=""], [contenteditable=true], [contenteditable=plaintext-only]'
  const inner = element.querySelectorAll(fields)
  const label = element.closest('label')
  let field = element
  if (!element.matches('input, textarea, select') && !element.isContentEditable) {
    field = (inner.length === 1 ? inner[0] : (label?.control ?? element))!
  }
  const type = field.tagName === 'INPUT' ? (field.type ?? '') : ''
  if (field.tagName === 'SELECT') return 'it is a drop-down; use the select action'
  if (type === 'checkbox' || type === 'radio') return 'it takes no text; use the check action'
  if (type === 'file') return 'it takes files; use the upload action'
  if (['button', 'submit', 'reset', 'image'].includes(type)) return 'it is a button; use the click action'
  if (type !== '' || field.tagName === 'INPUT' || field.tagName === 'TEXTAREA') return field
  if (field.isContentEditable) return field
  // Neither is clicked to see whether a field gets the focus: a click would send the form, or leave the page.
  const button = element.closest('button, a[href]')
  if (button?.tagName === 'A') return 'it is a link; use the click action'
  return button?.form && button.type === 'submit' ? 'it is a button; use the click action' : ''
}

/**
 * The field that a text is typed into; without a spot the one that has the focus, undefined if none has.
 * @throws RUN_ERR_BROWSER_ACTION_FAILED if there is no text field at the spot
 */
async function findTextField(act: Act, at: Spot | undefined): Promise<Found | undefined> {
  if (at === undefined) return focusedField(act)
  const found = await act.find(at)
  if (await act.step(() => found.evaluate(isTextField))) return found
  const field = await toField(act, await act.findHandle(at))
  if (field !== undefined) return field
  // Pages draw fields of their own, which put the focus into a real one when they are clicked.
  await act.step(() => ('ref' in at ? found.click(act.limits) : act.page.mouse.click(at.x, at.y)))
  const focused = await focusedField(act)
  if (focused === undefined && 'ref' in at) act.fail('it is no text field')
  return focused
}

async function toField(act: Act, element: ElementHandle): Promise<Found | undefined> {
  const result = await act.step(() => element.evaluateHandle(textFieldOf))
  const field = result.asElement()
  if (field !== null) return new HandleElement(field as ElementHandle)
  const reason = await act.step(() => result.jsonValue())
  if (typeof reason === 'string' && reason !== '') act.fail(reason)
  return undefined
}

async function focusedField(act: Act): Promise<Found | undefined> {
  let frame = act.page.mainFrame()
  for (;;) {
    const active = (await act.step(() => frame.evaluateHandle(activeElement))).asElement()
    if (active === null) return undefined
    const inner = await act.step(() => active.contentFrame())
    if (inner === null) return toField(act, active as ElementHandle)
    frame = inner
  }
}

// Runs in the page: what has the focus, also in open shadow roots.
function activeElement(): PageElement | null {
  const { document } = globalThis as unknown as { document: PageDocument }
  let active = document.activeElement
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement
  return active === document.body ? null : active
}

const FORMATS: Readonly<Record<string, readonly [RegExp, string]>> = {
  date: [/^\d{4,6}-\d\d-\d\d$/, 'a date field takes YYYY-MM-DD, e.g. 2027-03-31'],
  time: [/^\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/, 'a time field takes HH:MM, e.g. 14:30'],
  'datetime-local': [
    /^\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/,
    'a field for date and time takes YYYY-MM-DDTHH:MM, e.g. 2027-03-31T14:30'
  ],
  month: [/^\d{4,6}-\d\d$/, 'a month field takes YYYY-MM, e.g. 2027-03'],
  week: [/^\d{4,6}-W\d\d$/, 'a week field takes YYYY-Www, e.g. 2027-W13'],
  color: [/^#[0-9a-f]{6}$/, 'a colour field takes #rrggbb, e.g. #ff8800'],
  range: [/^[+-]?(?:\d+\.?\d*|\.\d+)$/, 'a slider takes a number'],
  number: [/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/, 'a number field takes digits only, e.g. 12.5']
}

/** Why an input of a type takes no such value; undefined if it does. The empty value clears all but sliders and colours. */
function formatFault(type: string, value: string): string | undefined {
  const format = FORMATS[type]
  if (format === undefined) return undefined
  if (value === '' && type !== 'range' && type !== 'color') return undefined
  return format[0].test(value) ? undefined : format[1]
}

type Type = Extract<DeskAction, { action: 'type' }>

// Characters for which Chromium's input is fast enough: its time grows with their square.
const INSERTED = 1_000
// Milliseconds in which a field that suggests values shows the first.
const SUGGESTIONS = 300

/** Types a text into a field, key by key where it is short, so that pages notice that listen to keys. */
export async function typeText(act: Act, { at, text, append = false, submit = false }: Type): Promise<void> {
  const element = await findTextField(act, at)
  if (element === undefined) {
    act.desk.notice('No field has the focus: the page got the keys')
    await enterText(act, text)
  } else {
    const field = await act.step(() => element.evaluate(readTextField))
    if (field.fault !== undefined) act.fail(field.fault)
    if (field.isSet) await setValue(act, element, field, text)
    else await replaceText(act, element, field, text, append)
    if (field.suggests && !submit) act.reaction = SUGGESTIONS
  }
  if (submit) await pressKey(act, 'Enter')
}

// Dates, colours and the like have no text to type into: the browser takes a whole value only.
async function setValue(act: Act, element: Found, { type: kind }: TextField, text: string): Promise<void> {
  const value = kind === 'color' ? text.trim().toLowerCase() : text.trim()
  const fault = formatFault(kind, value)
  if (fault !== undefined) act.fail(fault)
  await act.step(() => element.fill(value, act.limits))
  const actual = await act.step(() => element.evaluate((field) => field.value ?? ''))
  if (actual === value) return
  // A slider takes the nearest of its values.
  if (actual === '') act.fail(`the field did not take ${JSON.stringify(cutText(value, 40))}`)
  act.desk.notice(`The field took ${JSON.stringify(cutText(actual, 40))} instead`)
}

async function replaceText(
  act: Act,
  element: Found,
  { type: kind, isPlain, maxLength }: TextField,
  text: string,
  append: boolean
): Promise<void> {
  const fault = kind === 'number' && !append ? formatFault(kind, text.trim()) : undefined
  if (fault !== undefined) act.fail(fault)
  if (append) {
    await act.step(() => element.focus())
    await act.step(() => act.page.keyboard.press(END_OF_TEXT))
  } else await act.step(() => element.selectText(act.limits))
  if (isPlain && text.length > INSERTED) await setText(act, element, text, append)
  else if (text === '' && !append) await act.step(() => act.page.keyboard.press('Delete'))
  else await enterText(act, kind === 'number' ? text.trim() : text)
  if (maxLength !== undefined && text.length > maxLength) {
    act.desk.notice(`The field takes at most ${maxLength} characters`)
  }
}

const END_OF_TEXT = process.platform === 'darwin' ? 'Meta+ArrowDown' : 'Control+End'
