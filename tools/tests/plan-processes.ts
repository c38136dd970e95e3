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

const MAX_FILES = 12
const FILE_TIMEOUT = 60_000
/** A file with such a time-out, in milliseconds, runs alone. */
const LONG = 150_000
/** For a time-out that is not a literal. */
const UNKNOWN_TIMEOUT = 400_000
const GRACE = 60_000

// What measures its process, or changes it for all that comes after.
const ownProcess =
  /\b(?:cpuUsage|memoryUsage|getActiveResourcesInfo|setFlagsFromString|mock\.timers|process\.(?:on|once)\b|globalThis\.\w+ = )/
const ownTimeout = /^t\.setTimeout\((?:(?<literal>[\d_]+)\)|)/m

/**
 * Splits test files among processes: start and imports take longer than most files. Files of one workspace share processes, in the order
 * of their paths. A file with a long time-out of its own, or one that measures or changes its process, runs alone, the longest
 * first. The last processes have fewer files.
 */
export function planProcesses(files: TestFile[], jobs: number): PlannedProcess[] {
  const timeouts = new Map(files.map((file) => [file, timeoutOf(file)]))
  const isAlone = (file: TestFile) => timeouts.get(file)! >= LONG || ownProcess.test(file.source)
  const alone = files.filter(isAlone).toSorted((a, b) => timeouts.get(b)! - timeouts.get(a)!)
  const shared = files.filter((file) => !isAlone(file))
  const processes = alone.map((file) => [file])
  while (shared.length > 0) {
    const workspace = workspaceOf(shared[0]!)
    const sameWorkspace = shared.findIndex((file) => workspaceOf(file) !== workspace)
    const most = Math.min(MAX_FILES, Math.ceil(shared.length / (4 * jobs)))
    processes.push(shared.splice(0, sameWorkspace === -1 ? most : Math.min(most, sameWorkspace)))
  }
  return processes.map((each) => ({
    files: each.map(({ path }) => path),
    limit: each.reduce((sum, file) => sum + timeouts.get(file)!, GRACE)
  }))
}

function timeoutOf({ source }: TestFile): number {
  const match = ownTimeout.exec(source)
  if (match === null) return FILE_TIMEOUT
  const literal = match.groups?.['literal']
  return literal === undefined ? UNKNOWN_TIMEOUT : Number(literal.replaceAll('_', ''))
}

const workspaceOf = ({ path }: TestFile) => /^(?:packages|apps)\/[^/]+|/.exec(path)![0]
