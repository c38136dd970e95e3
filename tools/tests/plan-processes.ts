/** A test file, as it stands in the repository. */
export interface TestFile {
  /** Relative to the root. */
  path: string
  source: string
}

/** The files of one process, and how long it may take before it counts as hung. */
export interface PlannedProcess {
  files: string[]
  /** In milliseconds. */
  limit: number
}

const FILE_TIMEOUT = 60_000
/** The time-outs of the files of one process add up to at most this, in milliseconds. */
const MAX_TIMEOUT = 12 * FILE_TIMEOUT
/** For a time-out that is not a literal. */
const UNKNOWN_TIMEOUT = 400_000
const GRACE = 60_000

// What measures its process, or changes it for all that comes after.
const ownProcess =
  /\b(?:cpuUsage|memoryUsage|getActiveResourcesInfo|setFlagsFromString|createHook|mock\.timers|process\.(?:on|once)\b|globalThis\.\w+ = )/
const ownTimeout = /^t\.setTimeout\((?:(?<literal>[\d_]+)\)|)/m

/**
 * Splits test files among processes: start and imports take longer than most files. Files of one workspace or folder of `test` share
 * processes, in the order of their paths, as far as their time-outs allow. A file that measures or changes its process runs alone. The
 * processes that may take longest come first.
 */
export function planProcesses(files: TestFile[]): PlannedProcess[] {
  const processes: TestFile[][] = []
  for (const group of Map.groupBy(files, groupOf).values()) {
    let open: TestFile[] | undefined
    for (const file of group) {
      if (open === undefined || sumOf([...open, file]) > MAX_TIMEOUT) processes.push((open = []))
      open.push(file)
    }
  }
  return processes
    .map((each) => ({ files: each.map(({ path }) => path), limit: sumOf(each) + GRACE }))
    .toSorted((a, b) => b.limit - a.limit)
}

const sumOf = (files: TestFile[]) => files.reduce((sum, file) => sum + timeoutOf(file), 0)

function timeoutOf({ source }: TestFile): number {
  const match = ownTimeout.exec(source)
  if (match === null) return FILE_TIMEOUT
  const literal = match.groups?.['literal']
  return literal === undefined ? UNKNOWN_TIMEOUT : Number(literal.replaceAll('_', ''))
}

// A file that runs alone is a group of its own.
const groupOf = ({ path, source }: TestFile) =>
  ownProcess.test(source) ? path : /^(?:(?:packages|apps|test)\/[^/]+\/|)/.exec(path)![0]
