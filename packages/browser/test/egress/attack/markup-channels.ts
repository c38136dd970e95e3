import { frame, markup, type Channel } from './channel.ts'

/** Elements and styles that load something. */
export const MARKUP_CHANNELS: readonly Channel[] = [
  markup('img', ({ url }) => `<img src="${url}">`),
  markup('img-srcset', ({ url }) => `<img srcset="${url} 1x">`),
  markup('picture-source', ({ url }) => `<picture><source srcset="${url}"><img></picture>`),
  markup('input-image', ({ url }) => `<input type="image" src="${url}">`),
  markup('table-background', ({ url }) => `<table background="${url}"><tr><td>x</table>`),
  markup('svg-image', ({ url }) => `<svg><image href="${url}" width="9" height="9"/></svg>`),
  markup(
    'svg-fe-image',
    ({ url }) =>
      `<svg><filter id="fi"><feImage href="${url}"/></filter><rect filter="url(#fi)" width="9" height="9"/></svg>`
  ),
  markup('svg-use', ({ url }) => `<svg><use href="${url}#a"/></svg>`),
  markup('svg-script', ({ url }) => `<svg><script href="${url}"></script></svg>`),
  markup(
    'svg-foreign-object',
    ({ url }) => `<svg><foreignObject width="9" height="9"><img src="${url}"></foreignObject></svg>`
  ),
  markup('css-link', ({ url }) => `<link rel="stylesheet" href="${url}">`),
  markup('css-import', ({ url }) => `<style>@import url("${url}");</style>`),
  markup('css-background', ({ url }) => `<p style="background:url(${url})">x</p>`),
  markup('css-image-set', ({ url }) => `<p style="background:image-set('${url}' 1x)">x</p>`),
  markup('css-border-image', ({ url }) => `<p style="border:1px solid;border-image:url(${url}) 1">x</p>`),
  markup('css-list-style', ({ url }) => `<ul><li style="list-style:url(${url})">x</ul>`),
  markup('css-mask', ({ url }) => `<p style="mask:url(${url})">x</p>`),
  markup('css-content', ({ url }) => `<style>#cc::before{content:url(${url})}</style><p id="cc">x</p>`),
  markup('css-cursor', ({ url }) => `<p style="cursor:url(${url}),auto">x</p>`),
  markup('css-variable', ({ url }) => `<p style="--u:url(${url});background:var(--u)">x</p>`),
  markup(
    'css-font',
    ({ url }) => `<style>@font-face{font-family:ff;src:url(${url})}</style><p style="font-family:ff">x</p>`
  ),
  markup('script-src', ({ url }) => `<script src="${url}"></script>`),
  markup('script-module', ({ url }) => `<script type="module" src="${url}"></script>`),
  markup('script-import', ({ url }) => `<script type="module">import '${url}'</script>`),
  markup(
    'import-map',
    ({ url }) =>
      `<script type="importmap">{"imports":{"mapped":"${url}"}}</script><script type="module">import 'mapped'</script>`
  ),
  markup('link-preload', ({ url }) => `<link rel="preload" as="image" href="${url}">`),
  markup('link-preload-srcset', ({ url }) => `<link rel="preload" as="image" imagesrcset="${url} 1x">`),
  markup('link-prefetch', ({ url }) => `<link rel="prefetch" href="${url}">`),
  markup('link-modulepreload', ({ url }) => `<link rel="modulepreload" href="${url}">`),
  markup('link-preconnect', ({ host, port }) => `<link rel="preconnect" href="http://${host}:${port}">`, {
    via: 'tcp'
  }),
  markup('link-dns-prefetch', ({ host, port }) => `<link rel="dns-prefetch" href="http://${host}:${port}">`, {
    via: 'tcp'
  }),
  markup('link-prerender', ({ url }) => `<link rel="prerender" href="${url}">`),
  markup('link-icon', ({ url }) => `<link rel="icon" href="${url}">`),
  markup('link-manifest', ({ url }) => `<link rel="manifest" href="${url}">`),
  markup(
    'speculation-prefetch',
    ({ url }) =>
      `<script type="speculationrules">{"prefetch":[{"urls":["${url}"],"eagerness":"immediate"}]}</script>`,
    { address: 'speculation-prefetch.localhost' }
  ),
  markup(
    'speculation-prerender',
    ({ url }) =>
      `<script type="speculationrules">{"prerender":[{"urls":["${url}"],"eagerness":"immediate"}]}</script>`,
    { address: 'speculation-prerender.localhost' }
  ),
  markup('video', ({ url }) => `<video src="${url}" preload="auto"></video>`),
  markup('video-source', ({ url }) => `<video preload="auto"><source src="${url}"></video>`),
  markup('video-poster', ({ url }) => `<video poster="${url}"></video>`),
  markup(
    'video-track',
    ({ url, site }) => `<video crossorigin src="${site}/none"><track default src="${url}"></video>`
  ),
  markup('audio', ({ url }) => `<audio src="${url}" preload="auto"></audio>`),
  markup('object', ({ url }) => `<object data="${url}"></object>`),
  markup('embed', ({ url }) => `<embed src="${url}">`),
  markup('iframe', ({ url }) => `<iframe src="${url}"></iframe>`),
  markup('iframe-srcdoc', ({ url }) => `<iframe srcdoc="<img src='${url}'>"></iframe>`),
  markup('iframe-data', ({ url }) => `<iframe src="data:text/html,<img src='${url}'>"></iframe>`),
  markup('iframe-javascript', ({ url }) => `<iframe src="javascript:'<img src=${url}>'"></iframe>`),
  markup('iframe-sandboxed', ({ url }) => `<iframe sandbox src="${url}"></iframe>`),
  markup('iframe-fenced', ({ url }) => `<fencedframe src="${url}"></fencedframe>`),
  markup('attribution-source', ({ url }) => `<img attributionsrc="${url}" src="data:,">`),
  markup(
    'img-redirected',
    ({ url, site }) => `<img src="${site}/redirect/302?to=${encodeURIComponent(url)}">`
  ),
  markup(
    'iframe-redirected',
    ({ url, site }) => `<iframe src="${site}/redirect/307?to=${encodeURIComponent(url)}"></iframe>`
  ),
  markup(
    'script-redirected',
    ({ url, site }) => `<script src="${site}/redirect/301?to=${encodeURIComponent(url)}"></script>`
  ),
  markup(
    'css-redirected',
    ({ url, site }) => `<link rel="stylesheet" href="${site}/redirect/308?to=${encodeURIComponent(url)}">`
  ),
  markup('img-tls', ({ host, port }) => `<img src="https://${host}:${port}/">`, { via: 'tcp' }),
  frame('frameset', ({ url }) => `<frameset><frame src="${url}"></frameset>`),
  frame('body-background', ({ url }) => `<body background="${url}">x</body>`),
  frame('frame-base', ({ url }) => `<base href="${url}/"><img src="a">`),
  frame('frame-meta-refresh', ({ url }) => `<meta http-equiv="refresh" content="0;url=${url}">`),
  frame('csp-report-uri', () => '<img src="data:,">', {
    headers: ({ url }) => ({ 'content-security-policy': `img-src 'none'; report-uri ${url}` })
  }),
  frame('reporting-api', () => '<img src="data:,">', {
    headers: ({ url }) => ({
      'reporting-endpoints': `e="${url}"`,
      'content-security-policy': "img-src 'none'; report-to e"
    })
  }),
  frame('link-header', () => 'x', { headers: ({ url }) => ({ link: `<${url}>; rel=preload; as=image` }) }),
  frame('refresh-header', () => 'x', { headers: ({ url }) => ({ refresh: `0;url=${url}` }) }),
  frame('xslt', ({ url }) => `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="${url}"?><a/>`, {
    headers: () => ({ 'content-type': 'text/xml' })
  }),
  frame('xml-css', ({ url }) => `<?xml version="1.0"?><?xml-stylesheet type="text/css" href="${url}"?><a/>`, {
    headers: () => ({ 'content-type': 'text/xml' })
  }),
  frame(
    'svg-document',
    ({ url }) => `<svg xmlns="http://www.w3.org/2000/svg"><image href="${url}" width="9" height="9"/></svg>`,
    {
      headers: () => ({ 'content-type': 'image/svg+xml' })
    }
  )
]
