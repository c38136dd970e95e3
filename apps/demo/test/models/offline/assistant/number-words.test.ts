import t from 'tap'
import { digitsForWords } from '../../../../src/models/offline/assistant/number-words.ts'

t.test('numbers in words become digits', async (t) => {
  const cases: [string, string][] = [
    ['two plus two', '2 plus 2'],
    ['twenty-one and three', '21 and 3'],
    ['two hundred and five', '205'],
    ['three thousand four hundred', '3400'],
    ['one million', '1000000'],
    ['two hundred thousand and twelve', '200012'],
    ['nineteen eighty four', '19 84'],
    ['one two three', '1 2 3'],
    ['someone alone', 'someone alone']
  ]
  for (const [words, digits] of cases) t.equal(digitsForWords(words), digits, words)
})
