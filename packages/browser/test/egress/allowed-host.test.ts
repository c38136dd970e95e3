import t from 'tap'
import { createHostPolicy, type AllowedHosts } from '../../src/egress/allowed-host.ts'

/** `host:port` of the URL that a page has. */
function allows(allow: AllowedHosts, urls: readonly string[], privateHosts: readonly string[] = []) {
  const policy = createHostPolicy(allow, privateHosts)
  return urls.filter((text) => {
    const { hostname, port, protocol } = new URL(text)
    return policy.allows(hostname, Number(port) || (protocol === 'https:' ? 443 : 80))
  })
}

t.test('a name without a port is allowed on the ports of http and https, with a port on that one', (t) => {
  const urls = [
    'http://shop.example/',
    'https://shop.example/',
    'https://SHOP.example./a',
    'http://shop.example:8080/',
    'http://www.shop.example/',
    'http://example/',
    'http://shop.example.evil.example/',
    'http://notshop.example/'
  ]
  t.same(allows(['shop.example'], urls), urls.slice(0, 3))
  t.same(allows(['Shop.Example.:8080'], urls), ['http://shop.example:8080/'])
  t.same(allows(['shop.example', 'shop.example:8080'], urls), urls.slice(0, 4))
  t.end()
})

t.test('a wildcard is the subdomains at any depth, not the domain itself', (t) => {
  const urls = [
    'https://a.shop.example/',
    'https://a.b.shop.example/',
    'https://shop.example/',
    'https://evilshop.example/',
    'https://a.shop.example:8443/'
  ]
  t.same(allows(['*.shop.example'], urls), urls.slice(0, 2))
  t.same(allows(['*.shop.example:8443'], urls), urls.slice(4))
  const { allows: judge } = createHostPolicy(['*.shop.example'])
  for (const host of [
    '.shop.example',
    'a..shop.example',
    'a.shop.example..',
    'x@a.shop.example',
    'a/.shop.example',
    ''
  ])
    t.notOk(judge(host, 443), host)
  t.end()
})

t.test('names are compared in punycode, addresses in their normal form', (t) => {
  t.same(
    allows(
      ['bücher.example'],
      ['http://xn--bcher-kva.example/', 'http://BÜCHER.example/', 'http://bucher.example/']
    ),
    ['http://xn--bcher-kva.example/', 'http://BÜCHER.example/']
  )
  t.same(
    allows(
      ['8.8.8.8', '[2606:4700::1111]'],
      ['http://134744072/', 'http://8.8.2056/', 'http://[2606:4700:0::1111]/']
    ),
    ['http://134744072/', 'http://8.8.2056/', 'http://[2606:4700:0::1111]/']
  )
  t.end()
})

t.test('public means public names and addresses on the ports of http and https', (t) => {
  const urls = [
    'https://shop.example/',
    'http://8.8.8.8/',
    'http://[2606:4700::1111]/',
    'https://shop.example:8443/',
    'http://127.0.0.1/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/',
    'http://localhost/',
    'http://a.localhost/',
    'http://printer.local/',
    'http://intranet/'
  ]
  t.same(allows('public', urls), urls.slice(0, 3))
  t.end()
})

t.test('a private host is allowed exactly, and only it may have a private address', (t) => {
  const privateHosts = ['127.0.0.1:3000', 'localhost', '[::1]:3000', 'intranet']
  const urls = [
    'http://127.0.0.1:3000/',
    'http://localhost/',
    'https://localhost./',
    'http://[::1]:3000/',
    'http://intranet/',
    'http://127.0.0.1/',
    'http://127.0.0.1:3001/',
    'http://127.0.0.2:3000/',
    'http://a.localhost/'
  ]
  for (const allow of ['public', ['shop.example']] as const)
    t.same(allows(allow, urls, privateHosts), urls.slice(0, 5))
  const { mayBePrivate } = createHostPolicy(['shop.example'], privateHosts)
  t.ok(mayBePrivate('LOCALHOST.', 80))
  t.notOk(mayBePrivate('shop.example', 80))
  t.notOk(mayBePrivate('127.0.0.1', 80))
  t.end()
})

t.test('a malformed entry is named, with its place', (t) => {
  const bad = [
    '',
    ' ',
    '*',
    '*.',
    '*.*.example',
    'a.*.example',
    'http://shop.example',
    'shop.example/path',
    'shop.example?q',
    'shop.example#f',
    'user@shop.example',
    'shop.example:',
    'shop.example:0',
    'shop.example:65536',
    'shop.example:http',
    'shop.example:80:80',
    'shop .example',
    'shop.example\n',
    'shop..example',
    '.shop.example',
    'shop.example..',
    '2606:4700::1111',
    '[2606:4700::1111',
    '[shop.example]',
    '[fe80::1%25eth0]',
    '%73hop.example',
    'a\\b.example',
    '1.2.3.256',
    7,
    null
  ]
  for (const entry of bad) {
    const code = 'RUN_ERR_BAD_BROWSER'
    t.throws(
      () => createHostPolicy(['shop.example', entry as string]),
      { code, message: 'allow/1: ' },
      String(entry)
    )
    t.throws(
      () => createHostPolicy('public', [entry as string]),
      { code, message: 'privateHosts/0: ' },
      String(entry)
    )
  }
  t.end()
})

t.test('a host that is not public belongs in privateHosts, a wildcard belongs in allow', (t) => {
  for (const entry of [
    '127.0.0.1',
    '0x7f.1:8080',
    '[::1]',
    'localhost',
    'intranet',
    'a.local',
    'public',
    '10.0.0.1'
  ])
    t.throws(() => createHostPolicy([entry]), { code: 'RUN_ERR_BAD_BROWSER', message: 'privateHosts' }, entry)
  for (const entry of ['*.com', '*.localhost', '*.8.8.8.8', '*.[2606:4700::1111]'])
    t.throws(() => createHostPolicy([entry]), { code: 'RUN_ERR_BAD_BROWSER', message: 'two labels' }, entry)
  t.throws(() => createHostPolicy('public', ['*.shop.example']), {
    code: 'RUN_ERR_BAD_BROWSER',
    message: 'exact'
  })
  t.end()
})

t.test("allow is 'public' or a list with an entry", (t) => {
  for (const allow of [undefined, null, [], 'all', 'shop.example', {}, 7])
    t.throws(() => createHostPolicy(allow as AllowedHosts), {
      code: 'RUN_ERR_BAD_BROWSER',
      message: 'allow: '
    })
  t.throws(() => createHostPolicy('public', 'localhost' as never), {
    code: 'RUN_ERR_BAD_BROWSER',
    message: 'privateHosts: '
  })
  t.end()
})

t.test('allow may be empty beside private hosts, which are then all', (t) => {
  const urls = ['http://127.0.0.1:3000/', 'http://127.0.0.1:3001/', 'http://shop.example/']
  t.same(allows([], urls, ['127.0.0.1:3000']), urls.slice(0, 1))
  t.throws(() => createHostPolicy([], []), { code: 'RUN_ERR_BAD_BROWSER', message: 'allow: ' })
  t.end()
})
