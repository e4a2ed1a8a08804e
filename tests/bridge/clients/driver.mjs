// The TypeScript SDK as a client that is told what to do in lines of JSON; the protocol is described in lines.py.
//
//   node driver.mjs FOLDER sdk1      @modelcontextprotocol/sdk 1.x: the handshake era
//   node driver.mjs FOLDER sdk2      @modelcontextprotocol/client 2.x, which must find the modern era
//
// FOLDER holds the node_modules. `open` and `Sdk1`/`Sdk2` are all that the two versions do differently.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [folder, which] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const MODERN = '2026-07-28';
const ANSWERS = { name: 'Ada', colour: 'green' };
const LISTS = {
  tools: 'listTools',
  prompts: 'listPrompts',
  resources: 'listResources',
  resourceTemplates: 'listResourceTemplates',
};
const CHANGES = ['tools/list_changed', 'prompts/list_changed', 'resources/list_changed', 'resources/updated'];
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const FRESH = { cacheMode: 'bypass' };

function answerElicitation(params) {
  if (params.message.includes('decline')) return { action: 'decline' };
  if (params.mode === 'url') return { action: 'accept' };
  const fields = Object.keys(params.requestedSchema.properties);
  return { action: 'accept', content: Object.fromEntries(fields.map((key) => [key, ANSWERS[key]])) };
}

function answerSampling(params) {
  const said = [params.messages[0].content].flat()[0];
  const content = { type: 'text', text: `heard ${said.text}` };
  return { role: 'assistant', content, model: 'driver', stopReason: 'endTurn' };
}

const answerers = {
  'elicitation/create': answerElicitation,
  'sampling/createMessage': answerSampling,
  'roots/list': () => ({ roots: [{ uri: 'file:///driver/root', name: 'root' }] }),
};

// Both SDKs look a microtask after they read a progress for who listens to it; by then an answer out of the same
// piece of a pipe has ended that, and a step is lost that was told (docs/compatibility.md). Here each message gets a
// turn of its own.
function takeOneAtATime(transport) {
  const take = transport.onmessage;
  transport.onmessage = (message, extra) => setImmediate(take, message, extra);
}

class Link {
  questions = [];
  told = [];
  waiting = [];

  introduced(version) {
    const { name } = this.client.getServerVersion() ?? {};
    const [capabilities, instructions] = [this.client.getServerCapabilities(), this.client.getInstructions()];
    return { version, capabilities, name, instructions };
  }

  note(method, params) {
    this.told.push({ method, params: params ?? {} });
    for (const look of [...this.waiting]) look();
  }

  ask(method, params) {
    this.questions.push({ method, params: params ?? {} });
    return answerers[method](params ?? {});
  }

  async asked() {
    return this.questions.splice(0);
  }

  async forget() {
    this.told = [];
    this.questions = [];
    return {};
  }

  async event({ method, uri }) {
    return new Promise((found) => {
      const look = () => {
        const at = this.told.findIndex((e) => e.method === method && (uri === undefined || e.params.uri === uri));
        if (at < 0) return;
        this.waiting = this.waiting.filter((other) => other !== look);
        found(this.told.splice(at, 1)[0].params);
      };
      this.waiting.push(look);
      look();
    });
  }

  async close() {
    await this.client.close();
    return {};
  }

  async list({ kind }) {
    const found = [];
    let cursor;
    do {
      const page = await this.client[LISTS[kind]](cursor ? { cursor } : {}, FRESH);
      found.push(...page[kind]);
      cursor = page.nextCursor;
    } while (cursor);
    return found;
  }

  async call({ name, arguments: given }) {
    const progress = [];
    const onprogress = (p) => progress.push([p.progress, p.total, p.message]);
    return { result: await this.callTool({ name, arguments: given }, { onprogress }), progress };
  }

  async cancel({ name, arguments: given }) {
    const stop = new AbortController();
    const options = { onprogress: () => stop.abort('changed my mind'), signal: stop.signal };
    try {
      await this.callTool({ name, arguments: given }, options);
    } catch (problem) {
      if (!stop.signal.aborted) throw problem;
      return { cancelled: true };
    }
    return { cancelled: false };
  }

  async prompt({ name, arguments: given }) {
    return this.client.getPrompt({ name, arguments: given });
  }

  async read({ uri }) {
    return this.client.readResource({ uri }, FRESH);
  }

  async complete({ ref, argument }) {
    return this.client.complete({ ref, argument });
  }

  async logged() {
    const found = this.told.filter((entry) => entry.method === 'logged').map((entry) => entry.params);
    await this.forget();
    return found;
  }
}

class Sdk1 extends Link {
  async open(target) {
    const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
    const t = require('@modelcontextprotocol/sdk/types.js');
    this.client = new Client(
      { name: 'ts-sdk1', version: '1' },
      { capabilities: target.silent ? {} : CAPABILITIES },
    );
    if (!target.silent) {
      for (const schema of [t.ElicitRequestSchema, t.CreateMessageRequestSchema, t.ListRootsRequestSchema]) {
        this.client.setRequestHandler(schema, (asked) => this.ask(asked.method, asked.params));
      }
    }
    const changes = [
      t.ToolListChangedNotificationSchema,
      t.PromptListChangedNotificationSchema,
      t.ResourceListChangedNotificationSchema,
      t.ResourceUpdatedNotificationSchema,
    ];
    for (const schema of changes) {
      this.client.setNotificationHandler(schema, (told) => this.note(told.method, told.params));
    }
    this.client.setNotificationHandler(t.LoggingMessageNotificationSchema, (told) => this.note('logged', told.params));
    let transport;
    if (target.url) {
      const http = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
      transport = new http.StreamableHTTPClientTransport(new URL(target.url));
    } else {
      const stdio = require('@modelcontextprotocol/sdk/client/stdio.js');
      transport = new stdio.StdioClientTransport(target.command);
      transport.setProtocolVersion = (version) => (this.version = version);
    }
    await this.client.connect(transport);
    if (target.command) takeOneAtATime(transport);
    return this.introduced(transport.protocolVersion ?? this.version);
  }

  callTool(params, options) {
    return this.client.callTool(params, undefined, options);
  }

  async log({ level, name }) {
    await this.client.setLoggingLevel(level);
    await this.callTool({ name, arguments: {} });
    return this.logged();
  }

  async follow({ uri }) {
    return this.client.subscribeResource({ uri });
  }

  async leave({ uri }) {
    return this.client.unsubscribeResource({ uri });
  }
}

class Sdk2 extends Link {
  async open(target) {
    const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
    const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
    this.client = new Client(
      { name: 'ts-sdk2', version: '2' },
      { capabilities: target.silent ? {} : CAPABILITIES, versionNegotiation: { mode: { pin: MODERN } } },
    );
    if (!target.silent) {
      for (const method of Object.keys(answerers)) {
        this.client.setRequestHandler(method, (asked) => this.ask(method, asked.params));
      }
    }
    for (const change of CHANGES) {
      const method = `notifications/${change}`;
      this.client.setNotificationHandler(method, (told) => this.note(method, told.params));
    }
    this.client.setNotificationHandler('notifications/message', (told) => this.note('logged', told.params));
    const transport = target.url
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport(target.command);
    await this.client.connect(transport);
    if (target.command) takeOneAtATime(transport);
    return this.introduced(this.client.getNegotiatedProtocolVersion());
  }

  callTool(params, options) {
    return this.client.callTool(params, options);
  }

  async log({ level, name }) {
    const _meta = { 'io.modelcontextprotocol/logLevel': level };
    await this.callTool({ name, arguments: {}, _meta });
    return this.logged();
  }

  async follow({ uri }) {
    this.subscription = await this.client.listen({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: [uri],
    });
    return this.subscription.honoredFilter;
  }

  async leave() {
    await this.subscription.close();
    return {};
  }
}

const links = new Map();

async function obey({ link, do: what, ...order }) {
  if (what !== 'connect') return links.get(link)[what](order);
  const made = which === 'sdk1' ? new Sdk1() : new Sdk2();
  const introduced = await made.open(order);
  links.set(link, made);
  return introduced;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...order } = JSON.parse(line);
  obey(order).then(
    (result) => console.log(JSON.stringify({ id, result: result ?? {} })),
    (problem) => {
      const { code, message, data } = problem;
      const isServers = typeof code === 'number';
      const said = isServers ? { code, message, data } : { code: 0, message: `${code ?? ''} ${message}` };
      console.log(JSON.stringify({ id, error: said }));
    },
  );
}
for (const link of links.values()) await link.close().catch(() => undefined);
process.exit(0);
