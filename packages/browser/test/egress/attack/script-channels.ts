import { script, type Channel } from './channel.ts'

const BLOB = (code: string) =>
  `URL.createObjectURL(new Blob([${JSON.stringify(code)}], { type: 'text/javascript' }))`
const FIRST = (target: string, ...events: string[]) =>
  `await new Promise((resolve) => { for (const name of ${JSON.stringify(events)}) ${target}.addEventListener(name, resolve) })`
/** Runs code in a worker, which ends with `postMessage`. */
const WORKER = (code: string, options = '{}') =>
  `const worker = new Worker(${BLOB(code)}, ${options})\n${FIRST('worker', 'message', 'error')}`
const SHARED = (code: string) =>
  `const { port } = new SharedWorker(${BLOB(`onconnect = async ({ ports: [port] }) => { ${code}; port.postMessage(1) }`)})
   await new Promise((resolve) => { port.onmessage = resolve })`
const RTC = (
  server: string
) => `const connection = new RTCPeerConnection({ iceServers: [${server}], iceTransportPolicy: 'all' })
  connection.createDataChannel('c')
  await connection.setLocalDescription(await connection.createOffer())
  await new Promise((resolve) => {
    if (connection.iceGatheringState === 'complete') resolve()
    connection.onicegatheringstatechange = () => connection.iceGatheringState === 'complete' && resolve()
  })`
const TURN = (url: string) => `{ urls: '${url}', username: 'u', credential: 'c' }`
const ACTIVE_WORKER = (query: string, scope: string) => `
  const registration = await navigator.serviceWorker.register('/worker?${query}', { scope: '/${scope}/' })
  const worker = registration.installing ?? registration.waiting ?? registration.active
  if (worker.state !== 'activated')
    await new Promise((resolve) => { worker.onstatechange = () => worker.state === 'activated' && resolve() })`
const ELEMENT = (tag: string, action: string) =>
  `const element = document.body.appendChild(document.createElement('${tag}'))\n${action}`

/** What a script can open. */
export const SCRIPT_CHANNELS: readonly Channel[] = [
  script('fetch', ({ url }) => `await fetch('${url}')`),
  script(
    'fetch-post',
    ({ url }) => `await fetch('${url}', { method: 'POST', mode: 'no-cors', body: document.cookie })`
  ),
  script('fetch-preflight', ({ url }) => `await fetch('${url}', { method: 'PUT', headers: { 'x-a': '1' } })`),
  script('fetch-keepalive', ({ url }) => `await fetch('${url}', { keepalive: true, mode: 'no-cors' })`),
  script(
    'fetch-redirected',
    ({ url, site }) => `await fetch('${site}/redirect/302?to=' + encodeURIComponent('${url}'))`
  ),
  script(
    'fetch-post-redirected',
    ({ url, site }) =>
      `await fetch('${site}/redirect/307?to=' + encodeURIComponent('${url}'), { method: 'POST', mode: 'no-cors', body: 'a' })`
  ),
  script('fetch-tls', ({ host, port }) => `await fetch('https://${host}:${port}/')`, { via: 'tcp' }),
  script('fetch-later', ({ url }) => `fetchLater('${url}', { activateAfter: 0 })`),
  script(
    'xhr',
    ({ url }) =>
      `const request = new XMLHttpRequest(); request.open('GET', '${url}'); request.send()\n${FIRST('request', 'loadend')}`
  ),
  script(
    'xhr-sync',
    ({ url }) => `const request = new XMLHttpRequest(); request.open('GET', '${url}', false); request.send()`
  ),
  script(
    'xhr-redirected',
    ({ url, site }) =>
      `const request = new XMLHttpRequest(); request.open('GET', '${site}/redirect/303?to=' + encodeURIComponent('${url}')); request.send()\n${FIRST('request', 'loadend')}`
  ),
  script('beacon', ({ url }) => `navigator.sendBeacon('${url}', 'a')`),
  script(
    'event-source',
    ({ url }) =>
      `const source = new EventSource('${url}')\n${FIRST('source', 'error', 'open')}; source.close()`
  ),
  script(
    'event-source-redirected',
    ({ url, site }) =>
      `const source = new EventSource('${site}/redirect/302?to=' + encodeURIComponent('${url}'))\n${FIRST('source', 'error', 'open')}; source.close()`
  ),
  script(
    'websocket',
    ({ url }) => `const socket = new WebSocket('${url}'.replace('http', 'ws'))\n${FIRST('socket', 'close')}`
  ),
  script(
    'websocket-tls',
    ({ host, port }) => `const socket = new WebSocket('wss://${host}:${port}/')\n${FIRST('socket', 'close')}`,
    { via: 'tcp' }
  ),
  script('websocket-stream', ({ url }) => `await new WebSocketStream('${url}'.replace('http', 'ws')).opened`),
  script('webtransport', ({ host, port }) => `await new WebTransport('https://${host}:${port}/').ready`, {
    via: 'udp'
  }),
  script(
    'webtransport-address',
    ({ port }) =>
      `await new WebTransport('https://127.0.0.1:${port}/', { serverCertificateHashes: [{ algorithm: 'sha-256', value: new Uint8Array(32) }] }).ready`,
    { via: 'udp' }
  ),
  script('webrtc-stun', ({ port }) => RTC(`{ urls: 'stun:127.0.0.1:${port}' }`), { via: 'udp' }),
  script('webrtc-stun-name', ({ host, port }) => RTC(`{ urls: 'stun:${host}:${port}' }`), {
    via: 'udp',
    address: 'webrtc-stun-name.localhost'
  }),
  script('webrtc-turn-udp', ({ port }) => RTC(TURN(`turn:127.0.0.1:${port}?transport=udp`)), { via: 'udp' }),
  script('webrtc-turn-tcp', ({ port }) => RTC(TURN(`turn:127.0.0.1:${port}?transport=tcp`)), { via: 'tcp' }),
  script('webrtc-turn-tls', ({ host, port }) => RTC(TURN(`turns:${host}:${port}?transport=tcp`)), {
    via: 'tcp'
  }),
  script(
    'webrtc-candidate',
    ({ port }) => `const a = new RTCPeerConnection(), b = new RTCPeerConnection()
    a.createDataChannel('c')
    await a.setLocalDescription(await a.createOffer())
    await b.setRemoteDescription(a.localDescription)
    await b.setLocalDescription(await b.createAnswer())
    await a.setRemoteDescription(b.localDescription)
    await a.addIceCandidate({ candidate: 'candidate:1 1 udp 2122260223 127.0.0.1 ${port} typ host', sdpMid: '0' })
    await new Promise((resolve) => setTimeout(resolve, 1500))`,
    { via: 'udp' }
  ),
  script('import-dynamic', ({ url }) => `await import('${url}')`),
  script('import-css', ({ url }) => `await import('${url}', { with: { type: 'css' } })`),
  script('import-json', ({ url }) => `await import('${url}', { with: { type: 'json' } })`),
  script('worker-import-scripts', ({ url }) =>
    WORKER(`try { importScripts('${url}') } catch {} postMessage(1)`)
  ),
  script('worker-fetch', ({ url }) => WORKER(`fetch('${url}').catch(() => 0).then(() => postMessage(1))`)),
  script('worker-xhr', ({ url }) =>
    WORKER(
      `try { const request = new XMLHttpRequest(); request.open('GET', '${url}', false); request.send() } catch {} postMessage(1)`
    )
  ),
  script('worker-websocket', ({ url }) =>
    WORKER(`new WebSocket('${url}'.replace('http', 'ws')).onclose = () => postMessage(1)`)
  ),
  script('worker-event-source', ({ url }) =>
    WORKER(`new EventSource('${url}').onerror = () => postMessage(1)`)
  ),
  script('worker-module', ({ url }) => WORKER(`import '${url}'; postMessage(1)`, `{ type: 'module' }`)),
  script('worker-nested', ({ url }) =>
    WORKER(
      `new Worker(URL.createObjectURL(new Blob(["fetch('${url}').catch(() => 0).then(() => postMessage(1))"]))).onmessage = () => postMessage(1)`
    )
  ),
  script(
    'worker-webtransport',
    ({ port }) =>
      WORKER(
        `new WebTransport('https://127.0.0.1:${port}/').ready.catch(() => 0).then(() => postMessage(1))`
      ),
    { via: 'udp' }
  ),
  script('shared-worker-fetch', ({ url }) => SHARED(`await fetch('${url}').catch(() => 0)`)),
  script('shared-worker-import', ({ url }) => SHARED(`try { importScripts('${url}') } catch {}`)),
  script('service-worker', ({ url }) => ACTIVE_WORKER(`to=${encodeURIComponent(url)}`, 'fetching')),
  script(
    'service-worker-import',
    ({ url }) =>
      `await navigator.serviceWorker.register('/worker?import=' + encodeURIComponent('${url}'), { scope: '/importing/' })`
  ),
  script(
    'background-fetch',
    ({ url }) => `${ACTIVE_WORKER('', 'background')}
    await registration.backgroundFetch.fetch('b', ['${url}'])`
  ),
  script(
    'audio-worklet',
    ({ url }) => `await new OfflineAudioContext(1, 1, 8000).audioWorklet.addModule('${url}')`
  ),
  script('paint-worklet', ({ url }) => `await CSS.paintWorklet.addModule('${url}')`),
  script('font-face', ({ url }) => `await new FontFace('f', 'url(${url})').load()`),
  script(
    'cache-add',
    ({ url }) => `await (await caches.open('c')).add(new Request('${url}', { mode: 'no-cors' }))`
  ),
  script(
    'image-decode',
    ({ url }) => `const image = new Image(); image.src = '${url}'; await image.decode()`
  ),
  script('wasm-streaming', ({ url }) => `await WebAssembly.compileStreaming(fetch('${url}'))`),
  script('anchor-ping', ({ url }) =>
    ELEMENT('a', `element.href = '#ping'; element.ping = '${url}'; element.click()`)
  ),
  script('form-get', ({ url }) =>
    ELEMENT(
      'form',
      `element.action = '${url}'; element.target = 'form-get'; document.body.appendChild(document.createElement('iframe')).name = 'form-get'; element.submit()`
    )
  ),
  script('form-post', ({ url }) =>
    ELEMENT(
      'form',
      `element.action = '${url}'; element.method = 'post'; element.target = 'form-post'; document.body.appendChild(document.createElement('iframe')).name = 'form-post'; element.submit()`
    )
  ),
  script('download', ({ url }) =>
    ELEMENT('a', `element.href = '${url}'; element.download = 'f'; element.click()`)
  ),
  script(
    'federated-login',
    ({ host, port }) =>
      `await navigator.credentials.get({ identity: { providers: [{ configURL: 'http://${host}:${port}/r/federated-login', clientId: 'c' }] } })`,
    { address: 'federated-login.localhost' }
  ),
  script(
    'payment-manifest',
    ({ host, port }) =>
      `await new PaymentRequest([{ supportedMethods: 'https://${host}:${port}/pay' }], { total: { label: 't', amount: { currency: 'EUR', value: '1' } } }).canMakePayment()`,
    { via: 'tcp' }
  ),
  script(
    'related-origins',
    ({ host }) =>
      `await navigator.credentials.get({ publicKey: { challenge: new Uint8Array(8), rpId: '${host}' } })`
  ),
  script(
    'shared-storage',
    ({ url }) => `await sharedStorage.createWorklet('${url}', { dataOrigin: 'script-origin' })`
  ),
  script('web-install', ({ url }) => `await navigator.install('${url}')`),
  script('notification-icon', ({ url }) => `new Notification('n', { icon: '${url}' })`),
  script(
    'media-artwork',
    ({ url }) =>
      `navigator.mediaSession.metadata = new MediaMetadata({ title: 't', artwork: [{ src: '${url}' }] })`
  ),
  script('topics', ({ url }) => `await fetch('${url}', { browsingTopics: true, mode: 'no-cors' })`),
  script('presentation', ({ url }) => `await new PresentationRequest('${url}').getAvailability()`)
]
