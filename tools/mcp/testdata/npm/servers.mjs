// The servers of the protocol's makers, as an agent and a client of theirs reach them
// through usher (USHER): within the capabilities, by whatever spelling or batch.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const usher = process.env.USHER
const bin = name => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url))
const home = realpathSync(mkdtempSync(join(tmpdir(), 'usher-mcp-')))
const docs = join(home, 'docs')
mkdirSync(join(docs, 'public/deep'), { recursive: true })
mkdirSync(join(docs, 'secret'))
writeFileSync(join(docs, 'public/a'), 'open words')
writeFileSync(join(docs, 'secret/b'), 'hidden words')
writeFileSync(join(home, 'outside'), 'hidden words')
symlinkSync('../secret/b', join(docs, 'public/link'))
symlinkSync('../secret', join(docs, 'public/dir'))
symlinkSync('../../outside', join(docs, 'public/out'))

let failed = 0
const check = (what, ok, shown) => {
  if (ok) return
  failed++
  console.error(`FAIL ${what}: ${shown}`)
}

writeFileSync(join(home, 'usher.yaml'), `
models: {default: {provider: offline}}
mcp:
  - id: files
    command: ${JSON.stringify([bin('mcp-server-filesystem'), docs])}
    root: docs
    tools:
      - {match: list_allowed_directories, can: crud/read, with: "file://files"}
      - {match: read_multiple_files, can: crud/read, with: "file://files/{paths}"}
      - {match: "read_*", can: crud/read, with: "file://files/{path}"}
      - {match: "list_*", can: crud/read, with: "file://files/{path}"}
      - {match: "*_tree", can: crud/read, with: "file://files/{path}"}
      - {match: "get_*", can: crud/read, with: "file://files/{path}"}
      - {match: search_files, can: crud/read, with: "file://files/{path}"}
      - {match: write_file, can: crud/write, with: "file://files/{path}"}
      - {match: move_file, can: crud, with: ["file://files/{source}", "file://files/{destination}"]}
  - id: all
    command: ${JSON.stringify([bin('mcp-server-everything')])}
    tools: [{match: echo, can: net/send, with: echo}]
agents:
  - {id: reader, tools: [mcp/files/*, mcp/all/*], caps: [{with: "file://files/public", can: crud/read}]}
`)
const run = (...args) => spawnSync(usher, args, { cwd: home, encoding: 'utf8', timeout: 120_000 })
const first = run('mcp', 'inspect', 'files')
check('the filesystem server is inspected', first.status === 0 && first.stdout.includes('mcp/files/read_multiple_files  usable'), first.stdout + first.stderr)
const echo = run('mcp', 'test', 'all', 'echo', '{"message":"hello"}')
check('the everything server echoes', echo.status === 0 && echo.stdout.includes('hello'), echo.stdout + echo.stderr)

// reaches is a client whose calls are bounded as those of the agent.
const reaches = async args => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({ command: usher, args, cwd: home, stderr: 'ignore' }))
  return client
}
const said = async (client, name, input) => {
  try {
    return JSON.stringify(await client.callTool({ name, arguments: input }))
  } catch (err) {
    return `error: ${err.message}`
  }
}

const agent = await reaches(['mcp', 'serve', '--agent', 'reader'])
const offered = (await agent.listTools()).tools.map(t => t.name)
check('what an agent may read is offered', offered.includes('mcp_files_read_text_file'), offered)
check('what it may not is not', !offered.some(n => n.includes('write') || n.includes('move') || n.includes('_all_')), offered)
for (const path of ['public/a', `${docs}/public/a`, 'public/./a', 'public//a', 'public/deep/../a']) {
  const got = await said(agent, 'mcp_files_read_text_file', { path })
  check(`reading ${path}`, got.includes('open words'), got)
}
const bad = [
  'secret/b', `${docs}/secret/b`, 'public/../secret/b', 'public/deep/../../secret/b', 'public/link', 'public/dir/b', 'public/out', '../outside', `${home}/outside`,
  '/etc/passwd', '~/x', 'secret/b/', './secret/b', 'SECRET/b', 'public/\u0065\u0301', 'public\\..\\secret\\b', 'public/%2e%2e/secret/b', '', '.', docs,
]
for (const path of bad) {
  const got = await said(agent, 'mcp_files_read_text_file', { path })
  check(`reading ${JSON.stringify(path)} is refused`, !got.includes('hidden words') && /denied|invalid|error/i.test(got), got)
  const batch = await said(agent, 'mcp_files_read_multiple_files', { paths: ['public/a', path] })
  check(`reading a batch with ${JSON.stringify(path)} is refused`, !batch.includes('words"') && !batch.includes('hidden'), batch)
  const tree = await said(agent, 'mcp_files_directory_tree', { path })
  check(`listing ${JSON.stringify(path)} is refused`, !tree.includes('"b'), tree)
}
const moved = await said(agent, 'mcp_files_move_file', { source: 'public/a', destination: 'public/c' })
check('moving is denied', moved.includes('requires crud on'), moved)
await agent.close()

// The same through a gateway, which one line puts in the server's place.
const inPlace = ['gateway', '--id', 'files', '--root', docs, '--caps', '[{"with":"file://files/public","can":"crud/read"}]', '--', bin('mcp-server-filesystem'), docs]
const gateway = await reaches(inPlace)
const open = await said(gateway, 'read_text_file', { path: 'public/a' })
check('reading through the gateway', open.includes('open words'), open)
const shut = await said(gateway, 'read_text_file', { path: 'public/dir/b' })
check('reading through the gateway what is not allowed', shut.includes('requires crud/read on file://files/secret/b') && !shut.includes('hidden words'), shut)
await gateway.close()

// The inspector takes the gateway for the server. It wants a node of its own.
writeFileSync(join(home, 'inspected.json'), JSON.stringify({ mcpServers: { files: { command: usher, args: inPlace } } }))
const launcher = fileURLToPath(new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url))
const inspect = (...args) => {
  const ran = spawnSync(bin('node'), [launcher, '--cli', '--config', join(home, 'inspected.json'), '--server', 'files', '--method', ...args], {
    cwd: home, encoding: 'utf8', timeout: 120_000, env: { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'memory' },
  })
  try {
    return { status: ran.status, ...JSON.parse(ran.stdout) }
  } catch {
    return { status: ran.status, said: ran.stdout + ran.stderr }
  }
}
const inspected = path => inspect('tools/call', '--tool-name', 'read_text_file', '--tool-arg', `path=${path}`)
const known = inspect('tools/list')
const tools = known.tools?.map(t => t.name) ?? []
check('the inspector lists what may be read', known.status === 0 && tools.includes('read_text_file') && !tools.includes('write_file'), JSON.stringify(known).slice(0, 2000))
const shown = inspected('public/a')
check('the inspector reads', shown.status === 0 && shown.content?.[0].text === 'open words', JSON.stringify(shown))
for (const path of ['secret/b', 'public/link', 'public/dir/b', `${docs}/public/../secret/b`]) {
  const denied = inspected(path)
  check(`the inspector is denied ${path}`, denied.isError && denied.structuredContent?.error === 'capability_denied' && denied.structuredContent.resource.startsWith('file://files/secret'), JSON.stringify(denied))
}
const written = inspect('tools/call', '--tool-name', 'write_file', '--tool-arg', 'path=public/new', 'content=x')
check('the inspector finds nothing that writes', written.status !== 0 && written.said?.includes('tool_not_found') && !existsSync(join(docs, 'public/new')), JSON.stringify(written))

console.log(failed ? `${failed} failed` : 'ok')
process.exit(failed ? 1 : 0)
