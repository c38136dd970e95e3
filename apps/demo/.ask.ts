import { createMemoryStores, createRunEngine, collectRun } from '@svc/registry'
import { createAssistant } from './src/agents/assistant.ts'
import { loadSections } from './src/docs/load-sections.ts'
import { createSectionIndex } from './src/docs/section-index.ts'
import { createOfflineModel } from './src/models/offline/offline-model.ts'
import { calculate } from './src/tools/calculate.ts'
import { currentTime } from './src/tools/current-time.ts'
import { createReadSection } from './src/tools/read-section.ts'
import { createSearchDocs } from './src/tools/search-docs.ts'
import { readFileSync } from 'node:fs'
const index = createSectionIndex(loadSections('/work/main'))
const agent = createAssistant(createOfflineModel({ delay: 0 }), [
  createSearchDocs(index),
  createReadSection(index),
  calculate,
  currentTime
])
const engine = createRunEngine({})
let session = 's0',
  n = 0
for (const line of readFileSync(process.argv[2]!, 'utf8').split('\n')) {
  if (line.trim() === '') continue
  if (line === '----') {
    session = `s${++n}`
    console.log('\n================')
    continue
  }
  const q = line.replaceAll('\\n', '\n')
  const t0 = performance.now()
  const run = await engine.start(agent, q, { sessionId: session })
  try {
    const r = await run.result()
    console.log(
      `\n### ${q.slice(0, 200)}\n    [${
        process.env.V
          ? r.toolCalls
              .map((c) => c.toolName + ' ' + JSON.stringify(Object.values(c.args as object)[0]))
              .join(' | ')
              .slice(0, 300)
          : ''
      }] ${(performance.now() - t0).toFixed(0)}ms ${JSON.stringify(r.usage)}\n${r.text}`
    )
  } catch (e) {
    console.log('!!! ', q, e)
  }
}
await engine.close()
