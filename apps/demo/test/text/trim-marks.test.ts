import t from 'tap'
import { trimMarks } from '../../src/text/trim-marks.ts'

t.test('marks and whitespace at the end are taken away', async (t) => {
  t.equal(trimMarks('what? is it ?! \u00a0', '?!'), 'what? is it')
  t.equal(trimMarks('?!', '?!'), '')
  t.equal(trimMarks('', '?!'), '')
  t.equal(trimMarks('1.5.', '?'), '1.5.')
})
