import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { findEntry } from '@svc/surface'
import { CON_ERR_NOT_BUILT } from './errors.ts'
import { ENCODINGS, type Encoding, type PageFile } from './serve-page.ts'

/** Reads the files of the page, which the build of the package has made. @throws CON_ERR_NOT_BUILT */
export async function loadPage(): Promise<PageFile[]> {
  const installed = findEntry('@svc/console', import.meta.url)
  if (installed === undefined) throw new CON_ERR_NOT_BUILT('@svc/console')
  const folder = join(dirname(installed), 'page')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
  if (!paths.includes('index.html')) throw new CON_ERR_NOT_BUILT(folder)
  return Promise.all(paths.filter(isPlain).map(readPageFile))

  async function readPageFile(path: string): Promise<PageFile> {
    const encoded: Partial<Record<Encoding, Buffer>> = {}
    for (const [encoding, ending] of Object.entries(ENCODINGS) as [Encoding, string][])
      if (paths.includes(path + ending)) encoded[encoding] = await readFile(join(folder, path + ending))
    return { path: path.replaceAll(sep, '/'), body: await readFile(join(folder, path)), encoded }
  }
}

const isPlain = (path: string) => !Object.values(ENCODINGS).some((ending) => path.endsWith(ending))
