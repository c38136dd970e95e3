import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPrograms } from '../../src/voice/offline/find-programs.ts'

const programs = await findPrograms()

/** espeak-ng and pocketsphinx of this machine. */
export const installed = 'missing' in programs ? undefined : programs
/** Why tests of speech are skipped, if they are. */
export const skip = 'missing' in programs ? programs.missing : false

/** Writes a program in the language of the shell, and returns its path. */
export function writeProgram(folder: string, name: string, script: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}
