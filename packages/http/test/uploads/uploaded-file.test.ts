import * as fc from 'fast-check'
import t from 'tap'
import { toFileName } from '../../src/uploads/uploads.ts'

t.test('a file name is a label', async (t) => {
  const names: [given: string, name: string | undefined][] = [
    ['report.pdf', 'report.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['/etc/passwd', 'passwd'],
    ['C:\\x', 'x'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['a\0b', 'ab'],
    ['a\r\nSet-Cookie: b', 'aSet-Cookie: b'],
    ['Grüße 文書 🎉.txt', 'Grüße 文書 🎉.txt'],
    ['fdp.\u202eexe', 'fdp.exe'],
    ['x'.repeat(10_000), 'x'.repeat(255)],
    ['🎉'.repeat(200), '🎉'.repeat(127)],
    ['a\ud800b', 'a\ufffdb'],
    ['', undefined],
    [' ', undefined],
    ['..', undefined],
    ['a/', undefined],
    ['a/..', undefined],
    ['\0.\0', undefined]
  ]
  for (const [given, name] of names) t.equal(toFileName(given), name, JSON.stringify(given.slice(0, 30)))
})

t.test('any name gives a label or none', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (given) => {
      const name = toFileName(given)
      return (
        name === undefined ||
        (name.length > 0 && name.length <= 255 && name.isWellFormed() && !/[/\\\p{Cc}]/u.test(name))
      )
    })
  )
})
