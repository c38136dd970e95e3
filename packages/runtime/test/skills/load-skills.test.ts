import { pathToFileURL } from 'node:url'
import { loadSkills } from '@svc/runtime'
import t from 'tap'

const skill = (name: string, more = '', body = 'Do it.') =>
  `---\nname: ${name}\ndescription: Does ${name}\n${more}---\n\n${body}\n`

t.test('loads every folder with a SKILL.md, ordered by name', async (t) => {
  const folder = t.testdir({
    refunds: {
      'SKILL.md': skill('refunds', 'license: MIT\nmetadata:\n  author: ann\nallowed-tools: Read\n'),
      scripts: { 'run.sh': 'echo' },
      'notes.md': 'Notes'
    },
    'a-b2': { 'SKILL.md': `\uFEFF${skill('a-b2').replaceAll('\n', '\r\n')}` },
    'no-skill': { 'README.md': 'x' },
    '.hidden': { 'SKILL.md': 'x' },
    'file.md': 'x'
  })
  for (const place of [folder, pathToFileURL(`${folder}/`)]) {
    const skills = await loadSkills(place)
    t.match(skills, [
      { name: 'a-b2', description: 'Does a-b2', instructions: 'Do it.', files: [] },
      { name: 'refunds', instructions: 'Do it.', files: ['notes.md', 'scripts/run.sh'] }
    ])
    t.equal(skills.length, 2)
  }
})

t.test('errors name the skill and the fault', async (t) => {
  const bad: [content: string, fault: RegExp][] = [
    ['# Title', /front matter between lines of ---/],
    ['---\nname: x\n', /front matter between/],
    ['---\nname: [\n---\nDo.', /front matter: .*/],
    ['---\n- a\n---\nDo.', /not a mapping/],
    ['---\nname: x\n---\nDo.', /description/],
    ['---\nname: X y\ndescription: d\n---\nDo.', /name/],
    ['---\nname: -x\ndescription: d\n---\nDo.', /name/],
    ['---\nname: ../../x\ndescription: d\n---\nDo.', /name/],
    ['---\nname: other\ndescription: d\n---\nDo.', /differs from that of its folder/],
    [`---\nname: x\ndescription: ${'d'.repeat(1_025)}\n---\nDo.`, /description/],
    ["---\nname: x\ndescription: ' '\n---\nDo.", /description/],
    ['---\nname: x\nname: x\ndescription: d\n---\nDo.', /front matter/],
    ['---\nname: x\ndescription: d\n---\n  \n', /no instructions/],
    ['---\nname: x\ndescription: &a d\nlicense: *a\n---\nDo.', /front matter/],
    [`---\nname: x\ndescription: d\n---\n${'x'.repeat(70_000)}`, /more than 65536 bytes/]
  ]
  for (const [content, message] of bad) {
    const folder = t.testdir({ x: { 'SKILL.md': content } })
    await t.rejects(loadSkills(folder), { code: 'RUN_ERR_BAD_SKILL', message }, content.slice(0, 60))
    await t.rejects(loadSkills(folder), { message: /x\/SKILL\.md/ })
  }
})

t.test('files that are not UTF-8', async (t) => {
  const folder = t.testdir({ x: { 'SKILL.md': Buffer.from([0x2d, 0xff, 0xfe]) } })
  await t.rejects(loadSkills(folder), { code: 'RUN_ERR_BAD_SKILL', message: /UTF-8/ })
})

t.test('links are not followed', async (t) => {
  const outside = t.testdir({
    secret: skill('x'),
    skills: { x: { 'SKILL.md': t.fixture('symlink', '../../secret') }, y: t.fixture('symlink', '../secret') }
  })
  t.strictSame(await loadSkills(`${outside}/skills`), [])
})

t.test('a path that is not a folder', async (t) => {
  const folder = t.testdir({ 'a.txt': '' })
  await t.rejects(loadSkills(`${folder}/absent`), { code: 'RUN_ERR_BAD_SKILL', message: /ENOENT/ })
  await t.rejects(loadSkills(`${folder}/a.txt`), { code: 'RUN_ERR_BAD_SKILL', message: /is not a folder/ })
})

t.test('limits of a folder', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`s${n}`, {}]))
  await t.rejects(loadSkills(t.testdir(many)), {
    code: 'RUN_ERR_BAD_SKILL',
    message: /more than 200 folders/
  })
  const files = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`f${n}`, '']))
  await t.rejects(loadSkills(t.testdir({ x: files })), { message: /more than 200 files/ })
})
