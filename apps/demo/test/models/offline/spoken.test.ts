import t from 'tap'
import { createReceptionist } from '../../../src/agents/assistant.ts'
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts'
import { toSpoken } from '../../../src/models/offline/spoken.ts'
import { calculate } from '../../../src/tools/calculate.ts'
import { currentTime } from '../../../src/tools/current-time.ts'

const receptionist = createReceptionist(createOfflineModel({ delay: 0 }), [calculate, currentTime])
const say = async (input: string) => (await receptionist.run(input)).text

t.test('answers on the phone are plain sentences', async (t) => {
  t.equal(await say('what is 12 times 7'), '12 times 7 is 84.')
  t.equal(await say('what is 20 divided by 6'), '20 divided by 6 is about 3.33.')
  t.match(await say('what time is it in tokyo'), /^It is \d\d:\d\d on \w+, \d+ \w+ \d{4} in tokyo\.$/)
  t.match(await say('what can you do'), /^Hello! I answer questions about this service, [^*`\n]+$/)
})

t.test('code, sources and Markdown are left out', (t) => {
  const answer =
    '```sh\ncurl -s x\n```\n\nThe **run** (`runId`) gets `RUN_ERR_X`. It ends. More.\n\nSource: a.md, “B”.'
  t.equal(toSpoken(answer), 'The run gets RUN_ERR_X. It ends.')
  t.equal(toSpoken('You asked 2:\n\n1. What is a run?\n2. And then?'), 'You asked 2: What is a run?')
  t.equal(toSpoken('I said:\n\n> 3 * 4 = 12'), 'I said: 3 times 4 is 12.')
  t.equal(toSpoken('```js\nx\n```'), 'That is code, which is better read. Please ask me in writing.')
  t.equal(toSpoken(`${'Long '.repeat(60)}one. Two.`), `${'Long '.repeat(60)}one.`)
  t.end()
})
