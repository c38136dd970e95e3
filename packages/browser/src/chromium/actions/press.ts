import type { DeskAction } from '../../browser.ts'
import type { Act } from './act.ts'

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
export async function pressKey(act: Act, key: string): Promise<void> {
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
