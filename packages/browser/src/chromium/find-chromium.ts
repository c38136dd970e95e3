import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { RUN_ERR_BROWSER_MISSING } from '../errors.ts'

// The headless shell starts faster and takes less memory than the whole browser.
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome'
]
const PLACES = [
  ...NAMES.map((name) => `/usr/bin/${name}`),
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe'
]
const INSTALL = 'install one, e.g. the Debian package chromium-headless-shell'

/**
 * Finds Chromium: `CHROMIUM_PATH`, the folders of `PATH`, the usual places.
 * @throws RUN_ERR_BROWSER_MISSING
 */
export async function findChromium(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const { CHROMIUM_PATH: given, PATH = '' } = env
  if (given !== undefined && given !== '') return requireProgram(given, 'CHROMIUM_PATH')
  const onPath = NAMES.flatMap((name) =>
    PATH.split(delimiter)
      .filter(Boolean)
      .map((folder) => join(folder, name))
  )
  for (const path of [...onPath, ...PLACES]) if (await isExecutable(path)) return path
  throw new RUN_ERR_BROWSER_MISSING(`${INSTALL}, or set CHROMIUM_PATH`)
}

/** Returns a path that a setting gives, if it is a program. @throws RUN_ERR_BROWSER_MISSING */
export async function requireProgram(path: string, setting: string): Promise<string> {
  if (await isExecutable(path)) return path
  throw new RUN_ERR_BROWSER_MISSING(`${setting} names no program: ${path}; ${INSTALL}`)
}

// Folders can be executable too.
async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
