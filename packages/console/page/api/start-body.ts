/** A start of a run. */
export interface NewRun {
  readonly input: unknown
  readonly sessionId?: string | undefined
  readonly afterTurn?: string | null
  readonly whenBusy?: 'queue' | 'reject' | 'steer' | 'interrupt' | 'replace'
  /** They follow the text of `input`. */
  readonly files?: readonly File[]
}

/** Bytes of files that are sent as base64 within the JSON, which every service accepts up to its limit of bodies. */
const MAX_INLINE = 600_000

/** The body of a start: JSON, or a form if it has files that are too large for that. */
export async function toStartBody({ files = [], ...start }: NewRun): Promise<unknown> {
  if (files.length === 0) return start
  const size = files.reduce((total, file) => total + file.size, 0)
  // A form cannot say `null`, nor have parts that are no files.
  const fitsForm = start.afterTurn !== null && typeof start.input === 'string'
  return size > MAX_INLINE && fitsForm ? toForm(start, files) : toJson(start, files)
}

function toForm(start: NewRun, files: readonly File[]): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(start)) if (value) form.set(name, String(value))
  for (const file of files) form.append('files', file)
  return form
}

async function toJson(start: NewRun, files: readonly File[]): Promise<NewRun> {
  const { input } = start
  const said = Array.isArray(input) ? input : input === '' ? [] : [{ type: 'text', text: input }]
  return { ...start, input: [...said, ...(await Promise.all(files.map(toPart)))] }
}

async function toPart(file: File) {
  const mimeType = file.type || 'application/octet-stream'
  const [, type = 'file'] = /^(image|audio)\//.exec(mimeType) ?? []
  const data = await readBase64(file)
  return { type, mimeType, filename: file.name, data }
}

function readBase64(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const reader = new FileReader()
  reader.addEventListener('load', () => resolve((reader.result as string).replace(/^[^,]*,/, '')))
  reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read.`)))
  reader.readAsDataURL(file)
  return promise
}
