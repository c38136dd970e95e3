import type { DeskAction } from '../../desk-action.ts'
import { cutText } from '../../look/clean-text.ts'
import type { Act } from './act.ts'
import { enterText, setText } from './enter-text.ts'
import { findTextField } from './find-text-field.ts'
import type { Found } from './found.ts'
import { pressKey } from './press.ts'
import { readTextField, type TextField } from './text-field.ts'
import { formatFault } from './value-formats.ts'

type Type = Extract<DeskAction, { action: 'type' }>

// Characters for which Chromium's input is fast enough: its time grows with their square.
const INSERTED = 1_000
// Milliseconds in which a field that suggests values shows the first.
const SUGGESTIONS = 300

/** Types a text into a field, key by key where it is short, so that pages notice that listen to keys. */
export async function type(act: Act, { at, text, append = false, submit = false }: Type): Promise<void> {
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
