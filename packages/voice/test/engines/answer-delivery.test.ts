import t from 'tap'
import { AnswerDelivery } from '../../src/engines/answer-run.ts'

t.test('texts are settled once the call reports what was played', async (t) => {
  const delivery = new AnswerDelivery((hasText) => t.equal(hasText, true))
  const texts = Promise.all([
    delivery.settle('One moment. ', { last: false }),
    delivery.settle('Noon.', { last: true })
  ])
  delivery.delivered()
  t.strictSame(await texts, [
    { text: 'One moment. ', interrupted: false },
    { text: 'Noon.', interrupted: false }
  ])
  t.equal(delivery.interrupted.aborted, false)
})

t.test('an interruption cuts the text under way and those after it, not those before', async (t) => {
  const delivery = new AnswerDelivery(() => t.pass())
  const texts = Promise.all([
    delivery.settle('One moment. ', { last: false }),
    delivery.settle('It is noon.', { last: false })
  ])
  delivery.interrupt({ text: 'One moment. It is' })
  t.strictSame(await texts, [
    { text: 'One moment. ', interrupted: false },
    { text: 'It is', interrupted: true }
  ])
  t.equal(delivery.interrupted.aborted, true)
  t.strictSame(await delivery.settle('Really.', { last: true }), { text: '', interrupted: true })
})
