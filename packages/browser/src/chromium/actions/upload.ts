import type { ElementHandle, FileChooser } from 'playwright-core'
import { RUN_ERR_BROWSER_TOO_LARGE } from '../../errors.ts'
import type { DeskAction, UploadedFile } from '../../browser.ts'
import type { Act } from './act.ts'
import type { PageElement } from './page-dom.ts'

type Upload = Extract<DeskAction, { action: 'upload' }>

// What Playwright takes from memory at once.
const MAX_BYTES = 50 * 1024 * 1024
// Milliseconds until a button asks for files.
const ASKING = 1_000

/** Puts files into a file field, or into the one that a button asks with. */
export async function upload(act: Act, { at, files }: Upload): Promise<void> {
  const bytes = files.reduce((sum, { data }) => sum + data.byteLength, 0)
  if (bytes > MAX_BYTES)
    throw new RUN_ERR_BROWSER_TOO_LARGE(`${bytes} bytes to upload, of at most ${MAX_BYTES}`)
  const found = await act.findHandle(at)
  const field = ((await act.step(() => found.evaluateHandle(fileFieldOf))) as ElementHandle).asElement()
  const payloads = files.map(toPayload)
  if (field === null) {
    const chooser = await askForFiles(act, found)
    if (files.length > 1 && !chooser.isMultiple()) act.fail(ONE_FILE)
    await act.step(() => chooser.setFiles(payloads, act.limits))
    return
  }
  const { isDisabled, isMultiple, isFolder } = await act.step(() => field.evaluate(readFileField))
  if (isDisabled) act.fail('it is disabled')
  if (isFolder) act.fail('it takes a folder, not files')
  if (files.length > 1 && !isMultiple) act.fail(ONE_FILE)
  await act.step(() => field.setInputFiles(payloads, act.limits))
}

const ONE_FILE = 'it takes one file only'

async function askForFiles(act: Act, button: ElementHandle): Promise<FileChooser> {
  const asked = act.page.waitForEvent('filechooser', { timeout: ASKING, signal: act.signal })
  asked.catch(() => undefined)
  await act.step(() => button.click(act.limits))
  try {
    return await act.step(() => asked)
  } catch (err) {
    act.signal.throwIfAborted()
    if (err instanceof Error && err.name === 'TimeoutError')
      act.fail('it is no file field, and asks for no file')
    throw err
  }
}

function toPayload({ name, mimeType, data }: UploadedFile) {
  return {
    name: cleanName(name),
    mimeType,
    buffer: Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  }
}

// The name only: no folders, and nothing that a server could read as one.
function cleanName(name: string): string {
  const last = name.split(/[/\\]/).at(-1)!
  const clean = last
    .replace(/[\p{Cc}<>:"|?*]/gu, '_')
    .trim()
    .slice(0, 200)
  return /^\.*$/.test(clean) ? 'file' : clean
}

// Runs in the page: the field that an element is, is the label of, or has in it.
function fileFieldOf(element: PageElement): PageElement | null {
  const fields = 'input[type=file]'
  if (element.matches(fields)) return element
  const control = element.closest('label')?.control ?? null
  if (control?.matches(fields)) return control
  const inside = element.querySelectorAll(fields)
  return inside.length === 1 ? inside[0]! : null
}

// Runs in the page.
function readFileField(field: PageElement & { webkitdirectory?: boolean }) {
  return {
    isDisabled: field.matches(':disabled'),
    isMultiple: field.multiple === true,
    isFolder: field.webkitdirectory === true
  }
}
