import t from 'tap'
import { stemsOf, termsOf } from '../../src/text/terms.ts'
import { synonymsOf } from '../../src/text/synonyms.ts'

t.test('words are stemmed, and stop words left out', async (t) => {
  t.strictSame(stemsOf('How do I cancel the canceled runs?'), ['cancel', 'cancel', 'run'])
  t.strictSame(stemsOf('What is it?'), [])
  t.strictSame(stemsOf(''), [])
})

t.test('compound words have parts', async (t) => {
  t.strictSame(termsOf('maxSteps'), [{ word: 'maxSteps', stem: 'maxstep', parts: ['max', 'step'] }])
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
