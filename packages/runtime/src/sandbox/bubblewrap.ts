import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const DETECTION_MS = 5_000
// Shared libraries that Node is linked against.
const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/etc/ld.so.cache']

/** Arguments of bubblewrap: no network, no other processes, no files except the libraries and `readable`. */
export function bubblewrapArgs(readable: readonly string[]): string[] {
  const bound = [...LIBRARIES, process.execPath, ...readable].filter((path) => existsSync(path))
  return [
    ...[
      '--unshare-all',
      '--die-with-parent',
      '--new-session',
      '--as-pid-1',
      '--cap-drop',
      'ALL',
      '--clearenv'
    ],
    ...['--dev', '/dev', '--proc', '/proc'],
    ...bound.flatMap((path) => ['--ro-bind', path, path]),
    '--'
  ]
}

let works: boolean | undefined

/** True if bubblewrap is installed and works here; probed once, by starting Node in it. */
export function hasBubblewrap(): boolean {
  works ??=
    process.platform === 'linux' &&
    spawnSync('bwrap', [...bubblewrapArgs([]), process.execPath, '--version'], {
      env: { PATH: process.env['PATH'] },
      stdio: 'ignore',
      timeout: DETECTION_MS,
      killSignal: 'SIGKILL'
    }).status === 0
  return works
}
