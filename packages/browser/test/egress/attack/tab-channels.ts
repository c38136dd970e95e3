import { markup, tab, type Channel } from './channel.ts'

const RUN = (code: string) => `<body><script>${code}</script>`
const STATUSES = [301, 302, 303, 307, 308]

/** Navigations of a tab. */
const NAVIGATIONS: readonly Channel[] = [
  ...STATUSES.map((redirect) => tab(`redirect-${redirect}`, ({ url }) => url, { redirect })),
  tab('redirect-twice', ({ url, site }) => `${site}/redirect/302?to=${encodeURIComponent(url)}`, {
    redirect: 302
  }),
  tab('meta-refresh', ({ url }) => `<meta http-equiv="refresh" content="0;url=${url}">`),
  tab('refresh-top', () => 'x', { headers: ({ url }) => ({ refresh: `0;url=${url}` }) }),
  tab('location', ({ url }) => RUN(`location = '${url}'`)),
  tab('location-replace', ({ url }) => RUN(`location.replace('${url}')`)),
  tab('location-javascript', ({ url }) => RUN(`location = "javascript:location.href='${url}'"`)),
  tab('navigation-api', ({ url }) => RUN(`navigation.navigate('${url}')`)),
  tab('anchor-click', ({ url }) => `<a href="${url}">x</a>${RUN('document.links[0].click()')}`),
  tab('anchor-download', ({ url }) => `<a href="${url}" download>x</a>${RUN('document.links[0].click()')}`),
  tab(
    'anchor-base',
    ({ url }) => `<base href="${url}/"><a href="a">x</a>${RUN('document.links[0].click()')}`
  ),
  tab(
    'form-get-top',
    ({ url }) => `<form action="${url}"><input name="a" value="b"></form>${RUN('document.forms[0].submit()')}`
  ),
  tab(
    'form-post-top',
    ({ url }) =>
      `<form action="${url}" method="post"><input name="a" value="b"></form>${RUN('document.forms[0].submit()')}`
  ),
  tab(
    'form-post-307',
    ({ url, site }) =>
      `<form action="${site}/redirect/307?to=${encodeURIComponent(url)}" method="post"><input name="a"></form>${RUN('document.forms[0].submit()')}`
  ),
  tab('frame-to-top', ({ url }) => `<iframe srcdoc="<script>top.location='${url}'</script>"></iframe>`),
  tab('window-open', ({ url }) => RUN(`open('${url}')`)),
  tab('window-open-noopener', ({ url }) => RUN(`open('${url}', '_blank', 'noopener')`)),
  tab('window-opener', ({ url }) => RUN(`const w = open('about:blank'); if (w) w.location = '${url}'`)),
  tab('blank-document', ({ url }) =>
    RUN(`const w = open('about:blank'); w?.document.write('<img src="${url}">')`)
  ),
  tab('blob-page', ({ url }) =>
    RUN(`location = URL.createObjectURL(new Blob(['<img src="${url}">'], { type: 'text/html' }))`)
  ),
  tab(
    'data-frame-navigates',
    ({ url }) => `<iframe src="data:text/html,<script>location='${url}'</script>"></iframe>`
  ),
  tab('pagehide-beacon', ({ url, site }) =>
    RUN(`addEventListener('pagehide', () => navigator.sendBeacon('${url}')); location = '${site}/none'`)
  ),
  tab('pagehide-fetch', ({ url, site }) =>
    RUN(
      `addEventListener('pagehide', () => fetch('${url}', { keepalive: true, mode: 'no-cors' })); location = '${site}/none'`
    )
  ),
  tab('fetch-later-leaving', ({ url, site }) => RUN(`fetchLater('${url}'); location = '${site}/none'`), {
    address: 'fetch-later-leaving.localhost'
  }),
  tab('fragment-directive', ({ url }) => RUN(`location = '${url}#:~:text=a'`))
]

/** Other spellings of loopback addresses, and names that lead there. */
const ADDRESSES: readonly Channel[] = Object.entries({
  'address-plain': '127.0.0.1',
  'address-decimal': '2130706433',
  'address-hex': '0x7f000001',
  'address-hex-parts': '0x7f.0x0.0x0.0x1',
  'address-octal': '0177.0.0.1',
  'address-short': '127.1',
  'address-unspecified': '0.0.0.0',
  'address-zero': '0',
  'address-fullwidth': '１２７.0.0.1',
  'address-percent': '%31%32%37.0.0.1',
  'address-final-dot': '127.0.0.1.',
  'address-second-loopback': '127.0.0.2',
  'address-v6': '[::1]',
  'address-v6-mapped': '[::ffff:127.0.0.1]',
  'address-v6-mapped-hex': '[::ffff:7f00:1]',
  'address-v6-unspecified': '[::]',
  'name-localhost': 'localhost',
  'name-localhost-dot': 'localhost.',
  'name-localhost-upper': 'LOCALHOST',
  'name-sub-localhost': 'a.b.localhost',
  'name-rebinding': 'rebind.example',
  'name-local': 'secret.local',
  'name-internal': 'metadata.google.internal'
}).map(([name, address]) => markup(name, ({ url }) => `<img src="${url}">`, { address }))

const METADATA: readonly Channel[] = [
  markup('address-metadata', () => '<img src="http://169.254.169.254/latest/meta-data/">'),
  tab('location-address', ({ url }) => RUN(`location = '${url}'`), { address: '127.0.0.1' }),
  tab('redirect-address', ({ url }) => url, { redirect: 302, address: '0x7f.1' })
]

export const TAB_CHANNELS: readonly Channel[] = [...NAVIGATIONS, ...ADDRESSES, ...METADATA]
