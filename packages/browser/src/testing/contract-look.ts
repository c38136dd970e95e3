/** The ref in the line of a look that has this text. */
export function refOf(text: string, what: string): string {
  const line = text.split('\n').find((candidate) => candidate.includes(what)) ?? ''
  const ref = /\[ref=(\w+)\]/.exec(line)?.[1]
  if (ref === undefined) throw new Error(`No ref of ${what} in:\n${text}`)
  return ref
}

/** The code of the error of a call; undefined if it succeeds. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (err: { code?: unknown }) => err.code
  )
}
