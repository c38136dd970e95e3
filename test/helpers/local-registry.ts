import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, createReadStream, globSync, mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const STORE = resolve(import.meta.dirname, '../../node_modules/.pnpm')
const execute = promisify(execFile)

type Test = { teardown(what: () => unknown): unknown }
type Manifest = { name: string; version: string }

/**
 * Serves a package registry on a free port until the test ends, with the given tarballs and every package installed here,
 * so that a user's commands work without a network.
 * @param folder for temporary files
 */
export async function startRegistry(t: Test, tarballs: readonly string[], folder: string): Promise<string> {
  // A second package manager asks for the same.
  const packed = new Map<string, Promise<string>>()
  const published = new Map<string, { manifest: Manifest; tarball: string }>()
  for (const tarball of tarballs) {
    const { stdout } = await execute('tar', ['-xzOf', tarball, 'package/package.json'])
    const manifest = JSON.parse(stdout) as Manifest
    published.set(manifest.name, { manifest, tarball })
  }
  const server = createServer((request, reply) => {
    answer(decodeURIComponent(request.url ?? '/').slice(1), reply).catch((err: unknown) => {
      reply.writeHead(500).end(String(err))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return origin

  async function answer(path: string, reply: ServerResponse): Promise<void> {
    const [, name = path, version] = /^(.+)\/-\/(.+)\.tgz$/.exec(path) ?? []
    const own = published.get(name)
    if (version !== undefined) {
      if (own === undefined && !packed.has(path)) packed.set(path, pack(name, version, folder))
      createReadStream(own?.tarball ?? (await packed.get(path)!)).pipe(reply)
      return
    }
    const manifests = own === undefined ? installedOf(name) : [own.manifest]
    const latest = manifests.at(-1)
    if (latest === undefined) {
      reply.writeHead(404).end('{}')
      return
    }
    const versions = manifests.map((manifest) => [
      manifest.version,
      { ...manifest, dist: { tarball: `${origin}/${name}/-/${manifest.version}.tgz` } }
    ])
    reply.setHeader('content-type', 'application/json')
    reply.end(
      JSON.stringify({
        name,
        'dist-tags': { latest: latest.version },
        versions: Object.fromEntries(versions) as object
      })
    )
  }
}

function installedOf(name: string): Manifest[] {
  const found = globSync(`${name.replace('/', '+')}@*/node_modules/${name}/package.json`, { cwd: STORE })
  return found
    .map((path) => JSON.parse(readFileSync(join(STORE, path), 'utf8')) as Manifest)
    .toSorted((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }))
}

// As npm packs: everything is in a folder of this name.
async function pack(name: string, version: string, folder: string): Promise<string> {
  const [from = ''] = globSync(`${name.replace('/', '+')}@${version}*/node_modules/${name}`, { cwd: STORE })
  const own = mkdtempSync(join(folder, 'pack-'))
  // Copies, since hard links of the pnpm store would become links in the tarball.
  cpSync(join(STORE, from), join(own, 'package'), { recursive: true })
  const tarball = join(own, 'package.tgz')
  await execute('tar', ['-czf', tarball, '-C', own, 'package'])
  return tarball
}
