import { appendFileSync, readFileSync } from 'node:fs'

/** What a service did, as it wrote it down outside of its own process and stores. */
export interface Entry {
  /** `model`: a call of a model, by its key. `tool`: a tool was called. `effect`: an effect that must happen once. */
  what: 'model' | 'tool' | 'effect'
  key: string
  /** Of a model: hashes of the system prompt and of the messages, and whether they have an interrupted tool; of a tool: its idempotency key. */
  details: string[]
}

/** An append-only file of lines, shared by the processes of a service and the test that kills them. */
export class Ledger {
  readonly file: string

  constructor(file: string) {
    this.file = file
    appendFileSync(file, '')
  }

  write(what: Entry['what'], key: string, ...details: string[]): void {
    // One write, so that a kill leaves a whole line or none.
    appendFileSync(this.file, `${[what, key, ...details].join('\t')}\n`)
  }

  has(what: Entry['what'], key: string): boolean {
    return readFileSync(this.file, 'utf8').includes(`${what}\t${key}\n`)
  }

  /** The entries after so many. */
  read(from = 0): Entry[] {
    const lines = readFileSync(this.file, 'utf8').split('\n').slice(from, -1)
    return lines.map((line) => {
      const [what, key, ...details] = line.split('\t')
      return { what: what as Entry['what'], key: key!, details }
    })
  }
}
