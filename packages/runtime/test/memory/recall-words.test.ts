import t from 'tap'
import { queryWords, stemOf, stemsOf } from '../../src/memory/recall-words.ts'

const searched = (text: string) => [...queryWords(text).searched.values()].flat()

t.test('the words of a text, in the forms that a store may contain', async (t) => {
  t.strictSame(searched('What is the name of my dog?'), ['dog', 'dogs'])
  t.strictSame(searched('Which ALLERGIES do I have?'), ['allergies', 'allergy'])
  t.strictSame(searched('Heißt es Übermut?'), ['heißt', 'heißts', 'es', 'übermut', 'übermuts'])
  t.strictSame(searched('Box 4471'), ['box', 'boxs', '4471'])
  t.strictSame(searched('What is it about?'), [])
  t.strictSame(searched(''), [])
})

t.test('common words are searched only without others, but always count for ranking', async (t) => {
  t.strictSame(searched('The name of the week'), ['name', 'names', 'week', 'weeks'])
  t.strictSame([...queryWords('name of the hamster').ranked], ['hamster', 'nam'])
})

t.test('the words of a long text are bounded', async (t) => {
  const text = Array.from({ length: 500 }, (_, n) => `word${n}`).join(' ')
  t.equal(queryWords(text).searched.size, 10)
})

t.test('word endings', async (t) => {
  for (const [word, other] of [
    ['dogs', 'dog'],
    ['allergies', 'allergy'],
    ['moving', 'move'],
    ['moved', 'move'],
    ['planned', 'plan'],
    ['lives', 'live'],
    ['choosing', 'choose']
  ] as const)
    t.equal(stemOf(word), stemOf(other), word)
  t.equal(stemOf('glass'), 'glass')
  t.strictSame([...stemsOf('Dogs and a dog')], ['dog', 'and', 'a'])
})
