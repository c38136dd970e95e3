import { parseArgs, type ParseArgsOptionsConfig } from 'node:util'

/** The options of the command line; `--help` and what is not understood end the process with the usage. */
export function readOptions<const T extends ParseArgsOptionsConfig>(usage: string, options: T) {
  if (process.argv.slice(2).some((arg) => arg === '--help' || arg === '-h')) {
    console.log(usage)
    process.exit()
  }
  try {
    return parseArgs({ options }).values
  } catch (err) {
    return refuse((err as Error).message, usage)
  }
}

/** The names of a list with commas, each of them known; undefined for no list. */
export function readNames(list: string | undefined, known: readonly string[], usage: string) {
  const names = list?.split(',')
  const unknown = names?.find((name) => !known.includes(name))
  return unknown === undefined ? names : refuse(`Unknown: ${unknown}`, usage)
}

function refuse(message: string, usage: string): never {
  console.error(`${message}\n\n${usage}`)
  process.exit(1)
}
