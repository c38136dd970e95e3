import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** A program that recognizes speech, and which command line it has. */
export interface Recognizer {
  readonly path: string
  /** pocketsphinx 5 is one program with commands; before it, there was one for each. */
  readonly commands: boolean
}

/** The programs of offline speech, or how to install those that are missing. */
export type SpeechPrograms =
  | { readonly espeak: string; readonly recognizer: Recognizer }
  | { readonly missing: string }

/** Finds espeak-ng and pocketsphinx in the folders of `PATH`. */
export async function findPrograms({ PATH = '' }: NodeJS.ProcessEnv = process.env): Promise<SpeechPrograms> {
  const folders = PATH.split(delimiter).filter(Boolean)
  const [espeak, older, newer] = await Promise.all(
    ['espeak-ng', 'pocketsphinx_continuous', 'pocketsphinx'].map((name) => findIn(folders, name))
  )
  const path = older ?? newer
  if (espeak !== undefined && path !== undefined)
    return { espeak, recognizer: { path, commands: older === undefined } }
  const packages = [
    ...(espeak === undefined ? ['espeak-ng'] : []),
    ...(path === undefined ? ['pocketsphinx', 'pocketsphinx-en-us'] : [])
  ]
  return { missing: `apt-get install ${packages.join(' ')}` }
}

async function findIn(folders: readonly string[], name: string): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name)
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false
    )
    if (isProgram) return path
  }
  return undefined
}
