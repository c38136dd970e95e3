import t from 'tap'
import { isMisspelled, stemsOf, synonymsOf, termsOf } from '../../src/docs/terms.ts'

t.test('words are stemmed, and stop words left out', async (t) => {
  t.strictSame(stemsOf('How do I cancel the canceled runs?'), ['cancel', 'cancel', 'run'])
  t.strictSame(stemsOf('What is it?'), [])
  t.strictSame(stemsOf(''), [])
})

t.test('compound words have parts', async (t) => {
  t.strictSame(termsOf('maxSteps'), [{ word: 'maxSteps', stem: 'maxstep', parts: ['max', 'step'] }])
  t.strictSame(termsOf('gRPC')[0]?.parts, [], 'a letter is no part')
  t.strictSame(termsOf('RUN_ERR_TERMINAL')[0]?.parts, ['run', 'err', 'termin'])
  t.equal(termsOf('time-out')[0]?.stem, termsOf('timeouts')[0]?.stem)
  t.strictSame(termsOf('@svc/http,')[0]?.parts, ['svc', 'http'])
})

t.test('other scripts and emoji do no harm', async (t) => {
  t.strictSame(stemsOf('日本語 🎉'), ['日本語'])
  t.strictSame(stemsOf('Straße'), ['straße'])
})

t.test('synonyms go both ways', async (t) => {
  t.ok(synonymsOf('cancel').includes('stop'))
  t.ok(synonymsOf('stop').includes('cancel'))
  t.strictSame(synonymsOf('nothing'), [])
})

t.test('a word cut short or misspelled is the same, another word is not', async (t) => {
  for (const [word, known] of [
    ['auth', 'authent'],
    ['cancl', 'cancel'],
    ['sesion', 'session'],
    ['tolo', 'tool'],
    ['aproval', 'approval'],
    ['databese', 'database']
  ] as const)
    t.ok(isMisspelled(word, known), word)
  for (const [word, known] of [
    ['bread', 'break'],
    ['redi', 'readi'],
    ['grpc', 'rpc'],
    ['pari', 'part'],
    ['bake', 'make']
  ] as const)
    t.notOk(isMisspelled(word, known), word)
})
