import type { SourceTree } from './source-tree.ts'

/** What only the machine that writes knows, and no file may say. */
export interface Machine {
  /** Absolute folders, such as the checkout; one with a single name, like /app, proves nothing and is not looked for. */
  folders: string[]
  /** Hosts of package registries. */
  hosts: string[]
}

const anyHome = /(?<![\w.*/-])\/(?:root|(?:home|Users)\/[\w.-]+)\//
const anyRegistry = /https?:\/\/[\w.-]*(?:registry|artifactory|nexus|verdaccio)[\w-]*\.(?!example\b)\w/i

/** No file names a folder of the machine or the host of a package registry. */
export function checkLeaks(tree: SourceTree, machine: Machine): string[] {
  return [...tree].flatMap(([path, text]) => {
    const problems: string[] = []
    if (anyHome.test(text)) problems.push('a home folder')
    const folders = machine.folders.filter((folder) => folder.split('/').length > 2)
    if (folders.some((folder) => text.includes(`${folder}/`))) problems.push('a folder of this machine')
    if (anyRegistry.test(text) || machine.hosts.some((host) => text.includes(host)))
      problems.push('the host of a registry')
    if (path.endsWith('lock.yaml') && /tarball:\s*['"]?https?:/.test(text))
      problems.push('where a tarball came from')
    if (path.endsWith('.npmrc') && /registry\s*=/.test(text)) problems.push('a registry')
    return problems.map((problem) => `${path}: names ${problem}`)
  })
}
