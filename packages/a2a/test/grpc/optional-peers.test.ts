import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'

const src = resolve(import.meta.dirname, '../../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))

t.test('only the entry for gRPC needs the packages of gRPC', async (t) => {
  const users = files.filter((path) =>
    /from '(?:@grpc|@bufbuild)\//.test(readFileSync(resolve(src, path), 'utf8'))
  )
  t.not(users.length, 0)
  t.same(
    users.filter((path) => !path.startsWith('grpc/')),
    []
  )
  for (const path of files.filter((each) => !each.startsWith('grpc/')))
    t.notMatch(readFileSync(resolve(src, path), 'utf8'), /from '\.{1,2}\/(?:\w+\/)*grpc\//, path)
})
