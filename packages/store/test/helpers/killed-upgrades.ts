import { copyFile, hashFile } from './database-file.ts'
import { beforeEveryStatement } from './every-statement.ts'

/** The states in which files are left, each once. */
export class Left {
  readonly #byState = new Map<string, string>()

  get files(): string[] {
    return [...this.#byState.values()]
  }

  add(file: string, keep: () => string = () => file): void {
    const state = hashFile(file)
    if (!this.#byState.has(state)) this.#byState.set(state, keep())
  }
}

/** What a process leaves that is killed at a statement of its upgrade, for each of them. */
export async function killEverywhere(
  before: string,
  upgrade: (file: string) => Promise<void>,
  left: Left
): Promise<number> {
  const file = copyFile(before, `${before}-killed/app.db`)
  let statements = 0
  await beforeEveryStatement(
    () => {
      statements++
      left.add(file, () => copyFile(file, `${before}-killed-${statements}/app.db`))
    },
    () => upgrade(file)
  )
  return statements
}
