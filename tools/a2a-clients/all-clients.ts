import { readFileSync } from 'node:fs'
import { adk } from './adk.ts'
import { aiProvider } from './ai-provider.ts'
import { FEATURES, type ForeignClient } from './client.ts'
import { mastra } from './mastra.ts'
import { sdkV02 } from './sdk-v0.2.ts'
import { sdkV03 } from './sdk-v0.3.ts'
import { sdkV10 } from './sdk-v1.0.ts'
import { strands } from './strands.ts'

const CLIENTS = [sdkV02, ...sdkV03, ...sdkV10, aiProvider, adk, strands, ...mastra]

/** What each client can do, as the Markdown of a table, and why it cannot do the rest, as a list. */
export function describeClients(): string {
  const rows = CLIENTS.map((client) => [
    `\`${client.name}\` ${versionOf(client)}`,
    `${client.protocol}, ${client.binding}`,
    ...FEATURES.map((feature) => (client.lacks[feature] === undefined ? 'yes' : 'no'))
  ])
  const reasons = CLIENTS.flatMap((client) =>
    Object.entries(client.lacks).map(
      ([feature, reason]) =>
        `- **${feature}**, \`${client.name}\` ${versionOf(client)} over ${client.binding}: ${reason}.`
    )
  )
  const head = ['client', 'protocol', ...FEATURES]
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return [...table, '', ...reasons].join('\n')
}

function versionOf({ dependency }: ForeignClient): string {
  const file = new URL('./package.json', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }
  return dependencies[dependency]!.split('@').at(-1)!
}
