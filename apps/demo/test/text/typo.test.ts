import t from 'tap'
import { isSlipOf } from '../../src/text/typo.ts'

t.test('a word that is begun or mistyped is the same, another word is not', async (t) => {
  for (const [word, known] of [
    ['auth', 'authent'],
    ['cancl', 'cancel'],
    ['sesion', 'session'],
    ['tolo', 'tool'],
    ['aproval', 'approval'],
    ['databese', 'database']
  ] as const)
    t.ok(isSlipOf(word, known), word)
  for (const [word, known] of [
    ['bread', 'break'],
    ['redi', 'readi'],
    ['grpc', 'rpc'],
    ['pari', 'part'],
    ['bake', 'make']
  ] as const)
    t.notOk(isSlipOf(word, known), word)
})
